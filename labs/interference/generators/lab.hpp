#pragma once
// `k2k lab generators`: the sources of requests that the papers name, and what each costs the host.
//
// Threading: the main thread.

#include "cli/command.hpp"
#include "labs/interference/generators/generator.hpp"

namespace k2k::labs::generators {

// Adds the options and returns what to run.
cli::Run add_lab(cli::CommandLine& line, cli::Context& context);

// Runs these and prints the table: exit_failure where one answers wrongly, after the whole table.
int run_table(const cli::Context& context, const std::vector<const Generator*>& generators,
              const Settings& settings);

}  // namespace k2k::labs::generators
