// k2k-xsbench: the thesis' XSBench (table 4.2) as a program.

#include "apps/xsbench/command.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_application(argc, argv, k2k::cli::xsbench_command());
}
