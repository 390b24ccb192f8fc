#pragma once
// `k2k lab orthogonal`: a cap under each combination of the mitigations.
//
// Threading: the main thread.

#include "cli/command.hpp"

namespace k2k::labs::orthogonal {

// Adds the options and returns the function to run.
cli::Run add_lab(cli::CommandLine& line, cli::Context& context);

}  // namespace k2k::labs::orthogonal
