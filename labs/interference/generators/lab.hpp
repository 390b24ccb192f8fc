#pragma once
// `k2k lab generators`: the papers' sources of requests, and the cost of each to the host.
//
// Threading: the main thread.

#include "cli/command.hpp"
#include "labs/interference/generators/generator.hpp"

namespace k2k::labs::generators {

// Adds the options and returns the function to run.
cli::Run add_lab(cli::CommandLine& line, cli::Context& context);

// Runs these and prints the table. Returns exit_failure if an answer is wrong, after the whole
// table.
int run_table(const cli::Context& context, const std::vector<const Generator*>& generators,
              const Settings& settings);

}  // namespace k2k::labs::generators
