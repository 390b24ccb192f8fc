// k2k-comd: the thesis' CoMD (table 4.2) as a program.

#include "apps/comd/command.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_application(argc, argv, k2k::cli::comd_command());
}
