// k2k route simulate: schedules against the least time, on random residencies of 8 MiB.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/clock.hpp"
#include "base/reference_loop.hpp"
#include "cli/route.hpp"
#include "cli/text_table.hpp"
#include "labs/routing/quality.hpp"

namespace k2k::cli {

namespace {

using labs::routing::Pattern;
using labs::routing::Quality;
using labs::routing::Ratio;
using nlohmann::ordered_json;
using router::Planner;

constexpr std::uint32_t pages = 2048;  // 8 MiB, as in the paper.
constexpr std::uint64_t vectors_default = 20'000;
constexpr std::uint64_t vectors_full = 200'000;
constexpr std::uint64_t progress_every = 1'000;
// The timed residencies fit into half of a second-level cache of 512 KiB, as mincore(2) would leave
// them. Their order is unpredictable for branch predictors.
constexpr std::size_t timed_vectors = 128;
constexpr int timed_rounds = 101;
// The reference for the planner's time: this many instructions, each of which depends on the
// preceding one. Their time depends almost only on the clock frequency.

struct Row {
  const Pattern* pattern;
  Quality quality;
  double exact_ns;
};

void show_progress(const Pattern& pattern, std::uint64_t done, std::uint64_t all) {
  if (isatty(STDERR_FILENO) != 1) return;
  fmt::print(stderr, "\r\x1b[K{}: {} of {} vectors", pattern.name, done, all);
  if (done == all) fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

Quality quality_of(Planner& planner, const Pattern& pattern, const Simulate& wanted) {
  std::mt19937_64 random(wanted.seed);
  labs::routing::Judge judge(planner, pages);
  Quality quality;
  while (quality.vectors < wanted.vectors) {
    if (quality.vectors % progress_every == 0) {
      show_progress(pattern, quality.vectors, wanted.vectors);
    }
    judge.add(quality, pattern, random);
  }
  show_progress(pattern, wanted.vectors, wanted.vectors);
  return quality;
}

// From the bytes of a residency to its plan: the median round over `timed_vectors` different
// residencies.
double exact_ns(Planner& planner, const Pattern& pattern, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<std::uint8_t>> all(timed_vectors, std::vector<std::uint8_t>(pages));
  for (auto& each : all) pattern.fill(random, each);
  std::vector<std::size_t> order(timed_vectors);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> rounds;
  std::size_t sum = 0;
  for (int round = 0; round < timed_rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    // Reads all residencies into the cache.
    for (const auto& each : all) sum = std::accumulate(each.begin(), each.end(), sum);
    const Instant begin = now();
    for (const std::size_t at : order) sum += planner.exact(all[at]).cached.size();
    rounds.push_back(static_cast<double>((now() - begin).count()) / timed_vectors);
  }
  asm volatile("" ::"r"(sum));  // Keeps the plans' computation.
  std::nth_element(rounds.begin(), rounds.begin() + timed_rounds / 2, rounds.end());
  return rounds[timed_rounds / 2];
}

double rounded(double value) { return std::round(value * 10) / 10; }

ordered_json describe(const Row& row) {
  const Quality& quality = row.quality;
  const auto pair = [&](const Ratio& ratio) {
    return ordered_json{{"mean", quality.mean(ratio)}, {"worst", ratio.worst}};
  };
  const auto count = static_cast<double>(quality.vectors);
  return {{"pattern", row.pattern->name},
          {"vectors", quality.vectors},
          {"runs", static_cast<double>(quality.runs) / count},
          {"candidates", static_cast<double>(quality.candidates) / count},
          {"exact", pair(quality.exact)},
          {"greedy", pair(quality.greedy)},
          {"greedy_range", pair(quality.greedy_range)},
          {"split", pair(quality.split)},
          {"overlapped", pair(quality.overlapped)},
          {"exact_ns", rounded(row.exact_ns)}};
}

ordered_json as_json(const std::vector<Row>& rows, std::uint64_t seed) {
  double exact_min = 1e300;
  double greedy = 0;
  std::uint64_t vectors = 0;
  std::vector<double> times;
  ordered_json list = ordered_json::array();
  for (const Row& row : rows) {
    exact_min = std::min(exact_min, row.quality.exact.worst);
    greedy += row.quality.greedy.sum;
    vectors += row.quality.vectors;
    times.push_back(row.exact_ns);
    list.push_back(describe(row));
  }
  std::sort(times.begin(), times.end());
  const std::size_t half = times.size() / 2;
  return {{"exact_vs_optimum_min", exact_min},
          {"greedy_vs_optimum_mean", greedy / static_cast<double>(vectors)},
          {"exact_ns_median", rounded((times[half - 1] + times[half]) / 2)},
          {"exact_ns_worst_pattern", rounded(times.back())},
          {"loop_ns", rounded(reference_loop_ns(timed_rounds))},
          {"vectors", vectors},
          {"pages", pages},
          {"seed", seed},
          {"scan", router::scans().front().name},
          {"patterns", list}};
}

std::string simulation_text(const ordered_json& all, bool color) {
  const auto percent = [](const ordered_json& ratio) {
    return fmt::format("{:.2f} {:.2f}", ratio["mean"].get<double>() * 100,
                       ratio["worst"].get<double>() * 100);
  };
  std::vector<std::vector<std::string>> table = {{"pattern", "runs", "decided", "exact ns", "exact",
                                                  "greedy", "greedy-range", "split", "overlapped"}};
  for (const ordered_json& row : all["patterns"]) {
    table.push_back({row["pattern"].get<std::string>(),
                     fmt::format("{:.1f}", row["runs"].get<double>()),
                     fmt::format("{:.2f}", row["candidates"].get<double>()),
                     fmt::format("{:.1f}", row["exact_ns"].get<double>()), percent(row["exact"]),
                     percent(row["greedy"]), percent(row["greedy_range"]), percent(row["split"]),
                     percent(row["overlapped"])});
  }
  return text_table(table, color) +
         fmt::format(
             "{} residencies of {} pages. A schedule: the least serial time of whole runs by its "
             "own,\nmean and worst, in percent. exact ns: from bytes to plan, median by {}; over "
             "patterns\nmedian {:.1f}, worst {:.1f}.\n",
             all["vectors"].dump(), all["pages"].dump(), all["scan"].get<std::string>(),
             all["exact_ns_median"].get<double>(), all["exact_ns_worst_pattern"].get<double>());
}

}  // namespace

int simulate_routes(const Context& context, const router::Model& model, const Simulate& given) {
  Simulate wanted = given;
  if (wanted.vectors == 0) wanted.vectors = wanted.full ? vectors_full : vectors_default;
  Result<Planner> planner = Planner::create(model, pages);
  if (!planner) return complain_model(planner.error());
  std::vector<Row> rows;
  for (const Pattern& pattern : labs::routing::patterns()) {
    rows.push_back({&pattern, quality_of(planner.value(), pattern, wanted),
                    exact_ns(planner.value(), pattern, wanted.seed)});
  }
  const ordered_json all = as_json(rows, wanted.seed);
  return print(context.json ? all.dump() + "\n" : simulation_text(all, context.color));
}

}  // namespace k2k::cli
