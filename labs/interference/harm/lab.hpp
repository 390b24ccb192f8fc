#pragma once
// `k2k lab interference`: its options, its records and its output.
//
// Threading: the main thread, which must be the only one: sources and victims are forked.

#include "cli/command.hpp"

namespace k2k::labs::harm {

// Adds the options to `line`. The returned function measures and prints.
cli::Run add_lab(cli::CommandLine& line, cli::Context& context);

}  // namespace k2k::labs::harm
