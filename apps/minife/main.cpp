// k2k-minife: the thesis' miniFE (table 4.2) as a program.

#include "apps/minife/command.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_application(argc, argv, k2k::cli::minife_command());
}
