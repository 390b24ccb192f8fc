// k2k-display: the thesis' bmp-display (section 3.8.5, figure 3.16) as a program.

#include "apps/display/command.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_application(argc, argv, k2k::cli::display_command());
}
