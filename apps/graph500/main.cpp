// k2k-graph500: the thesis' graph500 (chapter 4) as a program.

#include "apps/graph500/command.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_application(argc, argv, k2k::cli::graph500_command());
}
