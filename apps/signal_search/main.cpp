// k2k-signal-search: the thesis' signal-search (section 3.8.2, figure 3.12) as a program.

#include "apps/signal_search/command.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_application(argc, argv, k2k::cli::signal_search_command());
}
