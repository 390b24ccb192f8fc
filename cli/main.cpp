// k2k: the command line. The table of its commands: each entry is one file.

#include "cli/command.hpp"
#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace k2k::cli;
  const Command bench = {.name = "bench",
                         .summary = bench_summary,
                         .examples = {{"k2k bench", "The benchmarks and their goals."}},
                         .is_guest = true};
  const Command lab = {
      .name = "lab",
      .summary = lab_summary,
      .examples = {{"k2k lab governor", "Real threads under 1, 5 and 25 %, in 55 s."}},
      .is_guest = true};
  const std::vector<Command> commands = {
      info_command(),
      doctor_command(),
      host_command(),
      ctl_command(),
      top_command(),
      watch_command(),
      grep_command(),
      bench,
      lab,
      route_command(),
      calibrate_command(),
      calls_command(),
      config_command(),
      man_command(),
      completion_command(),
      help_command(),
  };
  return run(argc, argv, commands);
}
