#pragma once
// `k2k lab trace`: its options and its output.
//
// Threading: the main thread.

#include "cli/command.hpp"

namespace k2k::labs::trace {

// Adds the options to `line`. The returned function replays and prints.
cli::Run add_lab(cli::CommandLine& line, cli::Context& context);

}  // namespace k2k::labs::trace
