// k2k-grep: the command `k2k grep` alone, with the same code. ./dev demo builds this program
// because the rest of k2k takes minutes; it is not installed.

#include "cli/command.hpp"
#include "cli/commands.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_alone(argc, argv, k2k::cli::grep_command());
}
