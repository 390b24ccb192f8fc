// k2k: the command line. A table of contents: each line is one file.

#include "cli/command.hpp"
#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace k2k::cli;
  const std::vector<Command> commands = {
      info_command(),  doctor_command(),     host_command(),  ctl_command(),
      top_command(),   grep_command(),
#ifdef K2K_HAS_BENCH
      bench_command(),
#endif
#ifdef K2K_HAS_LAB
      lab_command(),
#endif
      route_command(), calibrate_command(),  calls_command(), config_command(),
      man_command(),   completion_command(), help_command(),
  };
  return run(argc, argv, commands);
}
