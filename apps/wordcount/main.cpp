// k2k-wordcount: the thesis' wordcount (section 3.8.3, figures 3.13 b and 3.14) as a program.

#include "apps/wordcount/command.hpp"

int main(int argc, char** argv) {
  return k2k::cli::run_application(argc, argv, k2k::cli::wordcount_command());
}
