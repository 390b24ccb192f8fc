// k2k-bench: the program behind `k2k bench`, with the same arguments (cli/guest.hpp). It includes
// grep, which one benchmark runs as a process.

#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace k2k::cli;
  return run(argc, argv, {bench_command(), grep_command(), man_command(), help_command()});
}
