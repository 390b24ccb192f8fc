// `k2k lab NAME`: the laboratories, a table of contents. Each line is one folder of labs/.

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "labs/interference/coalescing/lab.hpp"
#include "labs/interference/generators/lab.hpp"
#include "labs/interference/governor/lab.hpp"
#include "labs/interference/orthogonal/lab.hpp"
#include "labs/interference/trace/lab.hpp"

namespace k2k::cli {

namespace {

struct Lab {
  const char* name;
  const char* summary;
  Run (*add)(CommandLine& line, Context& context);
};
constexpr Lab labs[] = {
    {"governor", "What a cap on the CPU time of accelerators' requests does",
     k2k::labs::governor::add_lab},
    {"generators", "The papers' sources of requests, each checked against the CPU",
     k2k::labs::generators::add_lab},
    {"orthogonal", "A cap under each combination of the three mitigations",
     k2k::labs::orthogonal::add_lab},
    {"coalescing", "Adaptive coalescing against the best fixed setting",
     k2k::labs::coalescing::add_lab},
    {"trace", "Replays what an accelerator asks of the host, without one",
     k2k::labs::trace::add_lab},
};

Run add_labs(CommandLine& line, Context& context) {
  line.require_command();
  std::vector<std::pair<CommandLine, Run>> added;
  for (const Lab& lab : labs) {
    CommandLine one = line.command(lab.name, lab.summary);
    added.emplace_back(one, lab.add(one, context));
  }
  return [added] {
    // One is required.
    return std::find_if(added.begin(), added.end(),
                        [](const auto& one) { return one.first.given(); })
        ->second();
  };
}

}  // namespace

Command lab_command() {
  return {
      .name = "lab",
      .summary = lab_summary,
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
          "half are, and which of the eight combinations serves most under it? 'trace': what does "
          "the host do with requests that come as a file or a load says, from an accelerator "
          "that takes no core? 'coalescing': what does a request cost under adaptive coalescing, "
          "against the best of many fixed settings, with the same bound on the mean delay, over "
          "five load shapes?",
      .examples = {{"k2k lab governor", "Real threads under 1, 5 and 25 %, in 55 s."},
                   {"k2k lab governor --policy budget --cap 3% --seconds 5",
                    "One row of 5 s, and 2 s without a cap to compare with."},
                   {"k2k lab governor --policy auto --cap 5% --busy 100%",
                    "CPU programs on every core, which may lose 5 %; what they lost."},
                   {"k2k lab governor --load trace",
                    "The same from a device that takes no core: a trace."},
                   {"k2k lab governor --simulate", "The study's load under 1, 5 and 25 %."},
                   {"k2k lab governor --simulate --all --json", "Every load, for machines."},
                   {"k2k lab governor --simulate --cores 2 --cap 3% --service fixed:20",
                    "A load of one's own: one row a policy."},
                   {"k2k lab generators", "Every source of requests, and its cost."},
                   {"k2k lab generators ubench --per call --rate 5000",
                    "System calls at a steady rate."},
                   {"k2k lab orthogonal", "Eight combinations under three caps, in 60 s."},
                   {"k2k lab coalescing --quick", "Five load shapes in less than a minute."},
                   {"k2k lab coalescing dense --rounds 40", "One, with a narrower interval."},
                   {"k2k lab trace uniform --cap 5%", "The study's load, replayed under a cap."},
                   {"k2k lab trace requests.trace --outstanding 16 --json",
                    "A file, to its end, for machines."}},
      .has_json = true,
      .add = add_labs};
}

}  // namespace k2k::cli
