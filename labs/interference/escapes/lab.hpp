#pragma once
// `k2k lab escapes`: attempts to make the host work beyond the cap.
//
// Threading: the main thread.

#include "cli/command.hpp"

namespace k2k::labs::escapes {

// Adds the options and returns the function to run.
cli::Run add_lab(cli::CommandLine& line, cli::Context& context);

}  // namespace k2k::labs::escapes
