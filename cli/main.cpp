// k2k: the command line. The table of its commands: each entry is one file.

#include "cli/command.hpp"
#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace k2k::cli;
  const Command bench = {.name = "bench",
                         .summary = bench_summary,
                         .examples = {{"k2k bench", "The benchmarks and their goals."}},
                         .guest_of_package = "k2k-lab"};
  const Command lab = {
      .name = "lab",
      .summary = lab_summary,
      .examples = {{"k2k lab governor", "Real threads under 1, 5 and 25 %, in 55 s."}},
      .guest_of_package = "k2k-lab"};
  const Command watch = {
      .name = "watch",
      .summary = watch_summary,
      .examples = {{"k2k watch", "The host time of each device path, over three seconds."}},
      .guest_of_package = "k2k"};
  const std::vector<Command> commands = {
      info_command(),
      doctor_command(),
      host_command(),
      ctl_command(),
      top_command(),
      watch,
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
