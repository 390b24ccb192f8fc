#pragma once
// `k2k lab governor`: its options, and what it prints.
//
// Threading: the main thread.

#include "cli/command.hpp"

namespace k2k::labs::governor {

// Puts the options on `app`; the Run measures or simulates, and prints.
cli::Run add_lab(cli::CommandLine& line, cli::Context& context);

}  // namespace k2k::labs::governor
