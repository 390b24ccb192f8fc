#pragma once
// `k2k lab apu`: the interference paper's machine in simulated time.
//
// Threading: the main thread.

#include "cli/command.hpp"

namespace k2k::labs::apu {

// Adds the options and returns the function to run.
cli::Run add_lab(cli::CommandLine& line, cli::Context& context);

}  // namespace k2k::labs::apu
