// k2k-accesses: the memory accesses of the programs of the thesis' chapter 4, recorded for
// `k2k lab translation`.

#include "labs/accesses/command.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_application(argc, argv, k2k::cli::accesses_command());
}
