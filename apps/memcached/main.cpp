// k2k-memcached: the thesis' memcached (section 3.8.4, figure 3.15) as a program.

#include "apps/memcached/command.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_application(argc, argv, k2k::cli::memcached_command());
}
