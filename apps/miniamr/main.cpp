// k2k-miniamr: the thesis' miniAMR (section 3.8.1, figure 3.11) as a program.

#include "apps/miniamr/command.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_application(argc, argv, k2k::cli::miniamr_command());
}
