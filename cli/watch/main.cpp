// k2k-watch: the program behind `k2k watch`, with the same arguments (cli/guest.hpp).

#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace k2k::cli;
  return run(argc, argv, {watch_command(), man_command(), help_command()});
}
