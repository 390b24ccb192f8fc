// k2k-lab: the program behind `k2k lab`, with the same arguments (cli/guest.hpp).

#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace k2k::cli;
  return run(argc, argv, {lab_command(), man_command(), help_command()});
}
