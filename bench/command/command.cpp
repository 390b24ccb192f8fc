// `k2k bench NAME`: runs one benchmark, prints it as text or as one JSON object on the last line.

#include "cli/command.hpp"

#include <fmt/format.h>

#include "bench/command/bench.hpp"

namespace k2k::bench {

const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> all = {
      {"roundtrip", "What does one call cost a work-item beyond the cache-line floor?",
       "p50 <= 2 x floor with 64 waves; <= 1.3 x that with 8,448 and 16,384", round_trip},
      {"headofline", "Does a call that sleeps 1 ms hold up the others?",
       "p50 loaded <= 3 x unloaded", head_of_line},
      {"pread", "How much of a core's cached pread() throughput reaches device code?",
       "device >= 0.85 x direct", cached_pread},
      {"throughput", "How many calls a second go through protocol and executor?",
       "single >= 3 M/s, whole waves >= 60 M/s", throughput},
      {"idle", "What does a server cost that waits, and how fast is it back?",
       "polling p50 <= 80 us at <= 0.05 of a core; quiet <= 0.005 and <= 1,500 us; futex <= 2 x "
       "bare",
       idle},
  };
  return all;
}

}  // namespace k2k::bench

namespace k2k::cli {

namespace {

int run_one(const bench::Benchmark& benchmark, const Context& context) {
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  auto result = benchmark.run(loaded.value().config);
  if (!result) return complain(fmt::format("bench {}: {}", benchmark.name, result.error().message));
  if (context.json) return print(result.value().dump() + "\n");
  std::string text = fmt::format("{}\n", benchmark.question);
  for (const auto& [key, value] : result.value().items()) {
    text += fmt::format("  {:<18} {}\n", key, value.dump());
  }
  text += fmt::format("  {:<18} {}\n", "must reach", benchmark.must_reach);
  return print(text);
}

int list(const Context& context) {
  if (context.json) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const bench::Benchmark& benchmark : bench::benchmarks()) names.push_back(benchmark.name);
    return print(nlohmann::ordered_json{{"benchmarks", names}}.dump() + "\n");
  }
  std::string text;
  for (const bench::Benchmark& benchmark : bench::benchmarks()) {
    text += fmt::format("{:<12} {}\n{:<12} must reach: {}\n", benchmark.name, benchmark.question,
                        "", benchmark.must_reach);
  }
  return print(text);
}

}  // namespace

Command bench_command() {
  return {.name = "bench",
          .summary = "Measure this machine and compare with what it permits",
          .description =
              "Runs one whole-system benchmark in under 50 seconds. What it is compared with (a "
              "cache-line round trip, a plain system call) is measured in the same run, so the "
              "ratio holds on a noisy machine. The last line of --json is one object.",
          .examples = {{"k2k bench", "What there is, and what each must reach."},
                       {"k2k bench roundtrip", "Cost of one call from device code."},
                       {"k2k bench pread --json", "For machines."}},
          .has_json = true,
          .add = [](CLI::App& app, Context& context) -> Run {
            auto chosen = std::make_shared<std::string>();
            std::vector<std::string> names;
            for (const bench::Benchmark& benchmark : bench::benchmarks()) {
              names.emplace_back(benchmark.name);
            }
            CLI::Option* name = app.add_option(
                "NAME", *chosen, fmt::format("Which: {}; none lists them", fmt::join(names, ", ")));
            context.words[name] = names;
            name->check(CLI::IsMember(names));
            return [&context, chosen] {
              if (chosen->empty()) return list(context);
              for (const bench::Benchmark& benchmark : bench::benchmarks()) {
                if (*chosen == benchmark.name) return run_one(benchmark, context);
              }
              return exit_usage;
            };
          }};
}

}  // namespace k2k::cli
