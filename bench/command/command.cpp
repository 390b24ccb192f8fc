// `k2k bench NAME`: runs one benchmark, prints it as text or as one JSON object on the last line.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/command/bench.hpp"
#include "bench/command/fault_scale.hpp"
#include "bench/command/figure.hpp"
#include "bench/command/goal.hpp"
#include "bench/command/goal_table.hpp"
#include "cli/commands.hpp"

namespace k2k::bench {

namespace {

// For benchmarks of one size.
template <auto run>
Result<nlohmann::ordered_json> always_full(const RuntimeConfig& config, Effort) {
  return run(config);
}

}  // namespace

const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> all = {
      {"roundtrip", "What does one call cost a work-item beyond the cache-line floor?",
       always_full<round_trip>},
      {"onecore", "What does a call cost on one core, where no cache line travels?",
       always_full<one_core>},
      {"hostcall", "What does a call of an empty function of the host cost, and a query of Linux?",
       always_full<host_calls>},
      {"headofline", "Does a call that sleeps 1 ms hold up the others, or a read of the disk?",
       always_full<head_of_line>},
      {"pread", "How much of a core's cached pread() throughput reaches device code?",
       always_full<cached_pread>},
      {"throughput", "How many calls a second go through protocol and executor?",
       always_full<throughput>},
      {"idle", "What does a server cost that waits, and how fast is it back?", always_full<idle>},
      {"control", "What does a control socket cost a runtime that nobody asks?",
       always_full<control_socket>},
      {"small_files", "Does a file that is read once pay for the router?", small_files, "", true,
       true},
      {"granularity", "Who should read a file: work-items, work-groups or the kernel? (figure 3.7)",
       granularity, "thesis: work-items worst, work-groups best, larger ones better", true},
      {"ordering", "What do blocking calls and strong order cost? (figure 3.8)", ordering,
       "thesis: non-blocking saves 30 % where little is computed, nothing beyond 16 permutations",
       true},
      {"waiting", "What do work-items that poll take from the CPU? (figure 3.9)", waiting,
       "thesis: CPU accesses fall as more lines are polled; halted work-items take nothing", true},
      {"coalescing", "When does it pay to serve up to eight calls at a time? (figure 3.10)",
       coalescing, "thesis: 10 to 15 % where little is read, nothing where much is", true},
      {"grep", "How fast is a grep that is a kernel, beside its peers? (figure 3.13 a)", grep_peers,
       "the same names; thesis: 2.0 to 2.3 x OpenMP, by work-items that halt 3 to 4 % more", true},
      {"wordcount", "What does a wordcount gain by its own system calls? (figure 3.13 b)",
       wordcount_ways, "the same counts; thesis: nearly 6 x OpenMP, relaunch far worse than OpenMP",
       true},
      {"signal_search", "What does it gain that a kernel signals each block? (figure 3.12)",
       signal_search_ways, "the same digests; thesis: 14 % faster than one launch", true},
      {"miniamr", "What does a kernel gain and pay that returns memory? (figure 3.11)",
       miniamr_memory,
       "the same cells; thesis: killed without, ends with both watermarks; the lower one takes "
       "less "
       "memory and more time",
       true},
      {"mapped", "What do demand and huge pages cost and give a program? (figures 4.3, 4.8, 4.9)",
       mapped_inputs,
       "the same bits; thesis: CoMD saves no memory on demand and loses little time, and gains up "
       "to 9.7 % by pages of 2 MB, miniFE nothing",
       true},
      {"applications", "What does each program pay for K2K, beside the same code with libc?",
       nullptr, "the same answers", true, true, nullptr, nullptr, applications_beside_libc},
      {"demand", "What memory and time do pages on demand save and cost? (figures 4.8, 4.9)",
       nullptr,
       "the same bits; thesis: BPT needs far less memory, XSBench the less the fewer its lookups, "
       "graph500 and CoMD as much; little or no time lost",
       true, true, nullptr, nullptr, demand_runs},
      {"memcached", "What does a memcached gain that answers from a kernel? (figure 3.15)", nullptr,
       "no wrong answer; thesis: 30 to 40 % in rate and latency", true, true, nullptr,
       memcached_servers},
      {"atomics", "What do the operations cost that slots are made of? (table 3.4)", atomics,
       "thesis: compare-swap 1.35 us, swap 0.78, atomic load 0.36, load 0.24", true},
      {"reads", "Is a read by the router as fast as the best single path? (SPIN, section 6)",
       nullptr, "", true, true, file_reads},
      {"writes", "What does a long write past the page cache cost, and leave? (files.exclusive)",
       file_writes, "", true, true},
      {"model", "How far is the router's model from what a request takes? (SPIN, section 4.3.1)",
       route_model, "SPIN: a mean error of 1.6 %", true, true},
      {"soak", "Does anything leak in 10^9 no-ops and 10^7 calls of every kind? (minutes)", soak,
       "nothing wrong, nothing left behind, resident memory as before", true, true},
      {"faults", "What does a page fault of device code cost, and who resolves it? (figure 4.6)",
       faults,
       "thesis: 5 to 140 us from 1 to 64 faults, 260 faults/ms, scheduling the largest part; CPU "
       "1.7 us",
       true},
      {"fault_scale", "Is a fault's time work or waiting, with 512,000 faults? (figure 4.6)",
       fault_scale, "thesis: 100 us with 64 faults at a time, throughput flat beyond 32", true,
       true},
      {"graph500", "What do a kernel's faults save and cost in a whole graph? (figures 4.8, 4.9)",
       graph500_modes,
       "the same levels; thesis: no memory saved, little or no time lost, 2 MiB change nothing",
       true},
  };
  return all;
}

}  // namespace k2k::bench

namespace k2k::cli {

namespace {

std::string text_of(const std::string& key, const nlohmann::ordered_json& value) {
  if (bench::is_figure(value)) return fmt::format("{}: {}", key, bench::figure_text(value));
  if (bench::is_table(value)) return fmt::format("{}:\n{}", key, bench::table_text(value));
  return fmt::format("  {:<18} {}\n", key, value.dump());
}

// What a result is compared with, by kind.
std::vector<std::pair<const char*, std::string>> aims_of(const bench::Benchmark& benchmark) {
  std::vector<std::pair<const char*, std::string>> aims = {
      {"must reach", bench::judged_goals(benchmark.name)},
      {"not judged", bench::unjudged_goals(benchmark.name)},
      {"expected", benchmark.expected}};
  std::erase_if(aims, [](const auto& aim) { return aim.second.empty(); });
  return aims;
}

// For the manual.
std::string goals_of_all() {
  std::string text;
  for (const bench::Benchmark& benchmark : bench::benchmarks()) {
    const std::string goals = bench::judged_goals(benchmark.name);
    if (!goals.empty()) text += fmt::format(" {}: {}.", benchmark.name, goals);
  }
  return text;
}

// After the result: sets the exit status, for programs that read nothing else.
int end_with(const bench::Benchmark& benchmark, const nlohmann::ordered_json& result,
             bench::Effort effort, int printed) {
  const bench::Goals goals = bench::goals_of(result);
  if (printed != exit_ok || goals.missed == 0 || effort == bench::Effort::brief) return printed;
  return complain(fmt::format("bench {}: {} of {} goals missed: see the column \"verdict\"",
                              benchmark.name, goals.missed, goals.judged));
}

struct BenchFlags {
  std::string name;
  bool brief = false;
  std::string only;
  std::uint32_t rounds = 0;  // 0: not given.
};

Result<nlohmann::ordered_json> result_of(const bench::Benchmark& benchmark, const BenchFlags& flags,
                                         const RuntimeConfig& config) {
  const auto effort = flags.brief ? bench::Effort::brief : bench::Effort::full;
  if (benchmark.run_chosen != nullptr) {
    return benchmark.run_chosen(config, {effort, flags.only, flags.rounds});
  }
  if (benchmark.run_only != nullptr) return benchmark.run_only(config, effort, flags.only);
  if (benchmark.run_rounds != nullptr) return benchmark.run_rounds(config, effort, flags.rounds);
  return benchmark.run(config, effort);
}

int run_one(const bench::Benchmark& benchmark, const BenchFlags& flags, const Context& context) {
  const auto effort = flags.brief ? bench::Effort::brief : bench::Effort::full;
  if (effort == bench::Effort::brief && !benchmark.has_brief) {
    return complain(fmt::format("bench {}: has no --brief; leave it out", benchmark.name),
                    exit_usage);
  }
  if (!flags.only.empty() && !benchmark.has_only()) {
    return complain(fmt::format("bench {}: has no --only; leave it out", benchmark.name),
                    exit_usage);
  }
  if (flags.rounds != 0 && !benchmark.has_rounds()) {
    return complain(fmt::format("bench {}: has no --runs; leave it out", benchmark.name),
                    exit_usage);
  }
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  auto result = result_of(benchmark, flags, loaded.value().config);
  if (!result) return complain(fmt::format("bench {}: {}", benchmark.name, result.error().message));
  if (context.json) {
    return end_with(benchmark, result.value(), effort, print(result.value().dump() + "\n"));
  }
  std::string text = fmt::format("{}\n", benchmark.question);
  for (const auto& [key, value] : result.value().items()) {
    text += text_of(key, value);
  }
  for (const auto& [what, said] : aims_of(benchmark)) {
    text += fmt::format("  {:<18} {}\n", what, said);
  }
  return end_with(benchmark, result.value(), effort, print(text));
}

int list(const Context& context) {
  if (context.json) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    nlohmann::ordered_json long_runs = nlohmann::ordered_json::array();
    for (const bench::Benchmark& benchmark : bench::benchmarks()) {
      (benchmark.long_run ? long_runs : names).push_back(benchmark.name);
    }
    return print(nlohmann::ordered_json{{"benchmarks", names}, {"long_runs", long_runs}}.dump() +
                 "\n");
  }
  std::string text;
  for (const bench::Benchmark& benchmark : bench::benchmarks()) {
    text += fmt::format("{:<12} {}\n", benchmark.name, benchmark.question);
    for (const auto& [what, said] : aims_of(benchmark)) {
      text += fmt::format("{:<12} {}: {}\n", "", what, said);
    }
  }
  return print(text);
}

}  // namespace

Command bench_command() {
  return {.name = "bench",
          .summary = bench_summary,
          .description =
              "Runs one whole-system benchmark in under 50 seconds (a soak, memcached, "
              "applications, demand: minutes). Its "
              "reference (a cache-line round trip, a plain system call) is measured in the same "
              "run, so the ratio holds on a noisy machine. The last line of --json is one object. "
              "A goal is met, missed, or cannot be told from this run. A missed goal sets exit "
              "status 1, but not with --brief, and not if the run itself showed that the goal "
              "cannot be reached on this machine. The goals:" +
              goals_of_all(),
          .examples = {{"k2k bench", "The benchmarks and their goals."},
                       {"k2k bench roundtrip", "Cost of one call from device code."},
                       {"k2k bench pread --json", "As JSON."},
                       {"k2k bench memcached --runs 5", "Each server five times."},
                       {"k2k bench reads --only '64 KiB, 0 %'", "The cold cells of 64 KiB."}},
          .exits =
              {{exit_failure,
                "A goal is missed, or the run failed; one line on standard error gives the reason. "
                "A result was printed only in the first case."}},
          .has_json = true,
          .add = [](CommandLine& line, Context& context) -> Run {
            auto flags = std::make_shared<BenchFlags>();
            std::vector<std::string> names;
            for (const bench::Benchmark& benchmark : bench::benchmarks()) {
              names.emplace_back(benchmark.name);
            }
            line.option("NAME", flags->name,
                        fmt::format("Which: {}; none lists them", fmt::join(names, ", ")))
                .one_of(names);
            line.flag("--brief", flags->brief,
                      "A second or two: whether it works, not figures to compare");
            line.option(
                "--only", flags->only,
                "Of reads, applications and demand: the cells in whose names this regular "
                "expression is found; such a name is 'random 64 KiB, 0 % in 128 KiB, 1 thread' "
                "or 'comd, pinned'");
            line.option("--runs", flags->rounds,
                        "Of memcached: the runs of each server; by default 20, as figure 3.15. Of "
                        "applications and demand: the rounds")
                .within(bench::rounds_least, bench::rounds_most);
            return [&context, flags] {
              if (flags->name.empty()) return list(context);
              for (const bench::Benchmark& benchmark : bench::benchmarks()) {
                if (flags->name == benchmark.name) return run_one(benchmark, *flags, context);
              }
              return exit_usage;
            };
          }};
}

}  // namespace k2k::cli
