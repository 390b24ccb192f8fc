#pragma once
// `k2k lab translation`: what address translation costs on this machine, and on the thesis' machine
// as a simulation, beside the thesis' statements.
//
// Threading: the main thread.

#include "cli/command.hpp"

namespace k2k::labs::translation {

// Adds the options and returns the function to run.
cli::Run add_lab(cli::CommandLine& line, cli::Context& context);

}  // namespace k2k::labs::translation
