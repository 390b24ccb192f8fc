#pragma once
// `k2k lab coalescing`: adaptive coalescing against the best fixed setting.
//
// Threading: the main thread.

#include "cli/command.hpp"

namespace k2k::labs::coalescing {

// Adds the options and returns the function to run.
cli::Run add_lab(cli::CommandLine& line, cli::Context& context);

}  // namespace k2k::labs::coalescing
