#pragma once
// `k2k lab governor`: its options and its output.
//
// Threading: the main thread.

#include "cli/command.hpp"

namespace k2k::labs::governor {

// Adds the options to `line`. The returned function measures or simulates, and prints.
cli::Run add_lab(cli::CommandLine& line, cli::Context& context);

}  // namespace k2k::labs::governor
