// k2k-bench: what `k2k bench` runs, with the same arguments (cli/guest.hpp). With grep, which one
// of the benchmarks runs as a process.

#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace k2k::cli;
  return run(argc, argv, {bench_command(), grep_command(), man_command(), help_command()});
}
