// k2k-bpt: the thesis' BPT (table 4.2) as a program.

#include "apps/bpt/command.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_application(argc, argv, k2k::cli::bpt_command());
}
