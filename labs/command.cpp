// `k2k lab NAME`: the table of the laboratories. Each entry is one folder of labs/.

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "labs/interference/apu/lab.hpp"
#include "labs/interference/coalescing/lab.hpp"
#include "labs/interference/escapes/lab.hpp"
#include "labs/interference/generators/lab.hpp"
#include "labs/interference/governor/lab.hpp"
#include "labs/interference/harm/lab.hpp"
#include "labs/interference/orthogonal/lab.hpp"
#include "labs/interference/trace/lab.hpp"
#include "labs/translation/lab.hpp"

namespace k2k::cli {

namespace {

struct Lab {
  const char* name;
  const char* summary;
  Run (*add)(CommandLine& line, Context& context);
};
constexpr Lab labs[] = {
    {"interference", "The harm that requests do to real programs", k2k::labs::harm::add_lab},
    {"governor", "The effect of a cap on the CPU time of accelerators' requests",
     k2k::labs::governor::add_lab},
    {"generators", "The papers' sources of requests, each checked against the CPU",
     k2k::labs::generators::add_lab},
    {"orthogonal", "A cap under each combination of the three mitigations",
     k2k::labs::orthogonal::add_lab},
    {"coalescing", "Adaptive coalescing against the best fixed setting",
     k2k::labs::coalescing::add_lab},
    {"apu", "The interference paper's machine, simulated: its cores' sleep, its path's rates",
     k2k::labs::apu::add_lab},
    {"escapes", "Attempts to make the host work beyond a cap", k2k::labs::escapes::add_lab},
    {"trace", "Replays an accelerator's requests, without an accelerator",
     k2k::labs::trace::add_lab},
    {"translation", "The cost of address translation, here and on the thesis' machine (simulated)",
     k2k::labs::translation::add_lab},
};

Run add_labs(CommandLine& line, Context& context) {
  line.require_command();
  std::vector<std::pair<CommandLine, Run>> added;
  for (const Lab& lab : labs) {
    CommandLine one = line.command(lab.name, lab.summary);
    added.emplace_back(one, lab.add(one, context));
  }
  return [added] {
    // The parser requires a laboratory.
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
          "Each laboratory answers a question of the papers with a table. 'interference': how much "
          "do an accelerator's requests slow other programs down, and those programs the requests? "
          "Victims are processes of their own; sources replay requests without a device that takes "
          "a core. 'run delay' is added time on a run queue, 'CPU time' its inflation, each with a "
          "95 % interval; the paper's claims stand beside, with a verdict each. 'governor': how "
          "much of "
          "the host's CPU time do an accelerator's requests take under a cap, and how "
          "much of it is service? 'cap' and 'share' are fractions of the CPU time of all "
          "cores; 'of ideal' is throughput x mean service time / (cap x cores). It runs on real "
          "threads, under as many reads of random bytes as the server can serve, and observes "
          "them from outside (schedstat); with --simulate in simulated time. 'generators': how "
          "much do the requests of the papers' workloads cost, by kind? Each generator is device "
          "code that makes requests (page faults, allocation, migration, signals, files). Its "
          "answers are compared with the CPU's; wrong answers set exit status 1. "
          "'orthogonal': does a cap hold under every combination of steering, coalescing and "
          "bottom half, and which of the twelve serves most requests under it? 'trace': how does "
          "the host serve requests from a file or a computed load, without an accelerator "
          "that occupies a core? 'coalescing': how much does a request cost under adaptive "
          "coalescing, compared with the best of many fixed settings, with the same bound on the "
          "mean delay, over five load shapes? 'escapes': does a cap hold against kernels that let "
          "Linux "
          "work elsewhere, in interrupts, kernel threads or other processes? 'machine' is the CPU "
          "time of the attempt's processes, without the threads of the device, and of Linux "
          "beyond a moment without requests; 'charged' is what the governors saw. "
          "'apu': which figures of the interference paper follow from the path of a request alone? "
          "It simulates the paper's four cores, fitted to two of its figures, and judges others. "
          "'translation': what do TLB misses, page faults and changes of mappings cost? It "
          "measures "
          "this machine's CPU, simulates the machine of the thesis' chapter 4, and sets the "
          "thesis' "
          "statements beside both, with a verdict each; 'simulated' marks what no machine did.",
      .examples = {{"k2k lab interference --quick", "Three victims, in three minutes."},
                   {"k2k lab interference --out harm.jsonl --html harm.html",
                    "Every victim, source arm and setting, with records and a page."},
                   {"k2k lab interference --command 'mine=./program --fixed-work'",
                    "Your own program as the victim."},
                   {"k2k lab governor", "Real threads under 1, 5 and 25 %, in 55 s."},
                   {"k2k lab governor --policy budget --cap 3% --seconds 5",
                    "One row of 5 s, and 2 s without a cap for comparison."},
                   {"k2k lab governor --policy auto --cap 5% --busy 100%",
                    "CPU programs on every core may lose 5 %; shows their loss."},
                   {"k2k lab governor --load trace",
                    "The same from a trace, a device that occupies no core."},
                   {"k2k lab governor --simulate", "The study's load under 1, 5 and 25 %."},
                   {"k2k lab governor --simulate --all --json", "Every load, as JSON."},
                   {"k2k lab governor --simulate --cores 2 --cap 3% --service fixed:20",
                    "Your own load: one row per policy."},
                   {"k2k lab generators", "Every generator, and the cost of its requests."},
                   {"k2k lab generators ubench --per call --rate 5000",
                    "System calls at a steady rate."},
                   {"k2k lab orthogonal", "Twelve combinations under three caps, in 90 s."},
                   {"k2k lab coalescing --quick", "Five load shapes in less than a minute."},
                   {"k2k lab coalescing dense --rounds 40", "One shape, with a narrower interval."},
                   {"k2k lab escapes", "Ten attempts under a cap of 5 %, in 2.5 minutes."},
                   {"k2k lab apu", "The paper's machine, simulated, in seconds."},
                   {"k2k lab translation --quick", "Page walks, faults, shootdowns, in a minute."},
                   {"k2k lab translation --html translation.html", "All of it, with a page."},
                   {"k2k lab trace uniform --cap 5%", "The study's load, replayed under a cap."},
                   {"k2k lab trace requests.trace --outstanding 16 --json",
                    "A file, to its end, as JSON."}},
      .has_json = true,
      .add = add_labs};
}

}  // namespace k2k::cli
