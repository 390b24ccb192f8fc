// `k2k lab NAME`: the laboratories, a table of contents. Each line is one folder of labs/.

#include "cli/command.hpp"

#include "labs/interference/generators/lab.hpp"
#include "labs/interference/governor/lab.hpp"
#include "labs/interference/orthogonal/lab.hpp"

namespace k2k::cli {

Command lab_command() {
  return {
      .name = "lab",
      .summary = "Run an experiment of the papers",
      .description =
          "Laboratories answer a question of the papers with a table. 'governor': which share "
          "of the host's CPU time do the requests of an accelerator take under a cap, and how "
          "much of it is service? 'cap' and 'share' are fractions of the CPU time of all "
          "cores; 'of ideal' is throughput x mean service time / (cap x cores). It runs on real "
          "threads, under as many reads of random bytes as the server takes, and looks at "
          "them from outside (schedstat); with --simulate in simulated time. 'generators': what "
          "do the requests of the papers' workloads cost, by kind? Each is device code that "
          "makes requests (page faults, allocation, migration, signals, files) and whose "
          "answers are compared with those of the CPU; wrong ones make it exit with 1. "
          "'orthogonal': does a cap hold whatever the steering, the coalescing and the bottom "
          "half are, and which of the eight combinations serves most under it?",
      .examples = {{"k2k lab governor", "Real threads under 1, 5 and 25 %, in 55 s."},
                   {"k2k lab governor --policy budget --cap 3% --seconds 5",
                    "One row of 5 s, and 2 s without a cap to compare with."},
                   {"k2k lab governor --simulate", "The study's load under 1, 5 and 25 %."},
                   {"k2k lab governor --simulate --all --json", "Every load, for machines."},
                   {"k2k lab governor --simulate --cores 2 --cap 3% --service fixed:20",
                    "A load of one's own: one row a policy."},
                   {"k2k lab generators", "Every source of requests, and its cost."},
                   {"k2k lab generators ubench --per call --rate 5000",
                    "System calls at a steady rate."},
                   {"k2k lab orthogonal", "Eight combinations under three caps, in 60 s."}},
      .has_json = true,
      .add = [](CLI::App& app, Context& context) -> Run {
        app.require_subcommand(1);
        CLI::App* const governor = app.add_subcommand(
            "governor", "What a cap on the CPU time of accelerators' requests does");
        CLI::App* const generators = app.add_subcommand(
            "generators", "The papers' sources of requests, each checked against the CPU");
        CLI::App* const orthogonal = app.add_subcommand(
            "orthogonal", "A cap under each combination of the three mitigations");
        const Run run_governor = labs::governor::add_lab(*governor, context);
        const Run run_generators = labs::generators::add_lab(*generators, context);
        const Run run_orthogonal = labs::orthogonal::add_lab(*orthogonal, context);
        return [=] {
          if (governor->parsed()) return run_governor();
          return generators->parsed() ? run_generators() : run_orthogonal();
        };
      }};
}

}  // namespace k2k::cli
