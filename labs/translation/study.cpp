#include "labs/translation/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "labs/interference/governor/study.hpp"
#include "labs/translation/measured/chase.hpp"
#include "labs/translation/measured/faults.hpp"
#include "labs/translation/measured/quota_faults.hpp"
#include "labs/translation/measured/shootdown.hpp"
#include "labs/translation/simulated/figures.hpp"
#include "labs/translation/statements.hpp"

namespace k2k::labs::translation {

namespace {

using governor::rounded;
using nlohmann::ordered_json;
using Step = std::function<void(const char*)>;

std::string page_name(std::uint64_t bytes) {
  return bytes == small_page ? "4 KiB" : bytes == large_page ? "2 MiB" : "1 GiB";
}

ordered_json absent(const char* what, const std::string& why) {
  return {{"table", "absent"}, {"source", "measured"}, {"what", what}, {"why", why}};
}

ordered_json stride_row(const char* machine, const char* source, const char* count, double line_us,
                        std::uint64_t line_count, double page_us, std::uint64_t page_count) {
  // As the thesis calculates it: the difference of the times over that of the misses.
  const double miss_ns = (page_us - line_us) * 1e3 / static_cast<double>(page_count - line_count);
  return {{"table", "strides"},         {"source", source},
          {"machine", machine},         {"counted", count},
          {"line_count", line_count},   {"line_us", rounded(line_us)},
          {"page_count", page_count},   {"page_us", rounded(page_us)},
          {"miss_ns", rounded(miss_ns)}};
}

void add_chase(const Chase& chase, Rows& rows) {
  std::uint32_t number = 0;
  for (const Level& level : chase.levels) {
    rows.push_back({{"table", "levels"},
                    {"source", "measured"},
                    {"pages", name_of(chase.size)},
                    {"level", ++number},
                    {"reach_pages", level.reach_pages},
                    {"reach_kib", level.reach_pages * (bytes_of(chase.size) >> 10)},
                    {"translation_ns", rounded(level.ns)},
                    {"end_seen", !level.last}});
  }
  for (const ChasePoint& point : chase.points) {
    rows.push_back({{"table", "points"},
                    {"source", "measured"},
                    {"pages", name_of(chase.size)},
                    {"count", point.pages},
                    {"ns", rounded(point.ns)},
                    {"twin_ns", rounded(point.twin_ns)}});
  }
}

Status add_translation(const StudyPlan& plan, const Step& step, Rows& rows,
                       MeasuredRatios& ratios) {
  step("translation: pages of each size");
  ChaseOptions options{.seed = plan.seed, .bytes_most = plan.bytes_most};
  for (const PageSize size : {PageSize::small, PageSize::large, PageSize::huge}) {
    ChaseOptions one = options;
    if (size == PageSize::huge) one.bytes_most = 4 * bytes_of(size);
    const Result<Chase> seen = chase(size, one);
    if (seen) {
      add_chase(seen.value(), rows);
    } else if (size == PageSize::small) {
      return seen.error();
    } else {
      rows.push_back(absent(name_of(size), seen.error().message));
    }
  }
  for (std::uint32_t round = 0; round < plan.rounds; ++round) {
    options.seed = plan.seed + round;
    const Result<PageGain> gain = page_gain(options);
    if (!gain) {
      ratios.no_page_gain = gain.error().message;
      break;
    }
    ratios.page_gain.push_back(gain->small_ns / gain->large_ns);
  }
  options.seed = plan.seed;

  step("translation: chains side by side");
  const Result<Concurrency> side_by_side = concurrency(options);
  if (!side_by_side) return side_by_side.error();
  for (const ConcurrencyPoint& point : side_by_side->points) {
    rows.push_back({{"table", "chains"},
                    {"source", "measured"},
                    {"chains", point.chains},
                    {"step_ns", rounded(point.ns)},
                    {"twin_step_ns", rounded(point.twin_ns)}});
  }
  rows.push_back({{"table", "at_once"},
                  {"source", "measured"},
                  {"pages", side_by_side->pages},
                  {"loads", rounded(side_by_side->loads_at_once)},
                  {"twin_loads", rounded(side_by_side->twin_loads_at_once)},
                  {"knee", side_by_side->knee}});

  const Result<Strides> own = strides(options);
  if (!own) return own.error();
  rows.push_back(stride_row("this CPU", "measured", "pages touched", own->line.us, own->line.pages,
                            own->page.us, own->page.pages));
  return {};
}

Status add_faults(const StudyPlan& plan, const Step& step, Rows& rows) {
  step("page faults");
  const Result<std::vector<FaultCost>> costs = fault_costs(plan.fault_pages, 2 + plan.rounds);
  if (!costs) return costs.error();
  for (const FaultCost& one : costs.value()) {
    if (!one.absent.empty()) {
      rows.push_back(absent(one.kind, one.absent));
      continue;
    }
    rows.push_back({{"table", "faults"},
                    {"source", "measured"},
                    {"kind", one.kind},
                    {"about", one.about},
                    {"faults", one.faults},
                    {"ns", rounded(one.ns)}});
  }
  return {};
}

double middle_of(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// A machine without the right to make a cgroup has the reason instead.
void add_quota(const StudyPlan& plan, const Step& step, Rows& rows, MeasuredRatios& ratios) {
  step("page faults of the device under a CPU quota");
  const auto points = quota_faults(plan.quota_pages, plan.rounds);
  if (!points) {
    ratios.no_quota = points.error().message;
    rows.push_back(absent("faults under a CPU quota", points.error().message));
    return;
  }
  for (const QuotaPoint& point : points.value()) {
    const auto same = [&](const QuotaPoint& full) {
      return full.share == 1 && full.at_a_time == point.at_a_time;
    };
    const QuotaPoint& full = *std::ranges::find_if(points.value(), same);
    std::vector<double> times;
    for (std::size_t round = 0; round < point.us.size(); ++round) {
      times.push_back(point.us[round] / full.us[round]);
    }
    rows.push_back({{"table", "quota"},
                    {"source", "measured, a proxy"},
                    {"share", rounded(point.share)},
                    {"at_a_time", point.at_a_time},
                    {"us", rounded(middle_of(point.us))},
                    {"times", rounded(middle_of(times))}});
    if (point.share == quota_shares[slow_share] && point.at_a_time == 1) ratios.slow_clock = times;
  }
}

Status add_shootdowns(const StudyPlan& plan, const Step& step, Rows& rows, MeasuredRatios& ratios) {
  step("changes of mappings");
  ratios.no_shootdown = "needs 4 to 8 cores";
  for (std::uint32_t round = 0; round < plan.rounds; ++round) {
    const Result<std::vector<ShootdownCost>> costs = shootdown_costs(plan.shootdown_calls);
    if (!costs) return costs.error();
    for (const ShootdownCost& one : costs.value()) {
      if (one.cores >= 4 && one.cores <= 8 && one.pages == 1 && one.call == std::string("munmap")) {
        ratios.shootdown_ns.push_back(one.ns);
      }
      if (round > 0) continue;
      rows.push_back({{"table", "shootdowns"},
                      {"source", "measured"},
                      {"cores", one.cores},
                      {"call", one.call},
                      {"pages", one.pages},
                      {"calls", one.calls},
                      {"ns", rounded(one.ns)},
                      {"interrupts", nullptr}});
      if (one.interrupts >= 0) rows.back()["interrupts"] = rounded(one.interrupts);
    }
  }
  return {};
}

double mean_of(const ProgramRun& run, double (*value)(const Counts&)) {
  double sum = 0;
  for (const Counts& round : run.rounds) sum += value(round);
  return sum / static_cast<double>(run.rounds.size());
}

void add_simulated(const SimulatedFigures& figures, Rows& rows) {
  for (const LatencyPoint& point : figures.latency) {
    rows.push_back({{"table", "latency"},
                    {"source", "simulated"},
                    {"items", point.items},
                    {"ns", rounded(point.ns)}});
  }
  rows.push_back(stride_row("thesis' GPU, simulated", "simulated", "TLB misses",
                            figures.line.ns / 1e3, figures.line.misses, figures.page.ns / 1e3,
                            figures.page.misses));
  rows.push_back(stride_row("thesis' GPU, as printed", "thesis", "TLB misses", thesis::line_us,
                            thesis::line_misses, thesis::page_us, thesis::page_misses));
  rows.push_back(stride_row("thesis' CPU, as printed", "thesis", "TLB misses", thesis::cpu_line_us,
                            thesis::cpu_line_misses, thesis::cpu_page_us, thesis::cpu_page_misses));
  for (const ProgramRun& run : figures.runs) {
    const auto walks = [](const Counts& one) {
      return 1e3 * static_cast<double>(one.walks) / static_cast<double>(one.instructions);
    };
    rows.push_back(
        {{"table", "programs"},
         {"source", "simulated"},
         {"program", run.program},
         {"accesses", run.recorded ? "recorded" : "modelled"},
         {"footprint_gb", rounded(run.footprint_gb)},
         {"keys", run.sorted ? "sorted" : "unsorted"},
         {"pages", page_name(run.page_bytes)},
         {"prefetch", run.prefetch},
         {"misses_per_1000",
          rounded(mean_of(run, [](const Counts& one) { return one.misses_a_thousand(); }))},
         {"walks_per_1000", rounded(mean_of(run, walks))},
         {"us", rounded(mean_of(run, [](const Counts& one) { return one.ns / 1e3; }))}});
  }
  for (const ProgramRun& run : figures.flushed) {
    const ProgramRun& usual = figures.run_of(run.program, run.sorted, run.page_bytes, run.prefetch);
    const auto ratio = [&](double (*value)(const Counts&)) {
      return rounded(mean_of(run, value) / mean_of(usual, value));
    };
    rows.push_back({{"table", "flushes"},
                    {"source", "simulated"},
                    {"program", run.program},
                    {"accesses", run.recorded ? "recorded" : "modelled"},
                    {"misses", ratio([](const Counts& one) { return one.misses_a_thousand(); })},
                    {"time", ratio([](const Counts& one) { return one.ns; })}});
  }
}

void add_paging(const SimulatedFigures& figures, Rows& rows) {
  for (const FaultPoint& point : figures.faults) {
    rows.push_back({{"table", "device_faults"},
                    {"source", "simulated"},
                    {"items", point.items},
                    {"faults_per_ms", rounded(point.a_ms)},
                    {"driver_us", rounded(point.driver_us)},
                    {"device_us", rounded(point.device_us)},
                    {"faults_per_batch", rounded(point.batch)}});
  }
  for (const InvalidationPoint& point : figures.invalidations) {
    rows.push_back({{"table", "invalidations"},
                    {"source", "simulated"},
                    {"entries", point.all ? "all" : "one"},
                    {"cores", point.cores},
                    {"ns", rounded(point.ns)},
                    {"per_ms", rounded(point.a_ms)}});
  }
}

}  // namespace

Result<Rows> run_study(const StudyPlan& plan, const Step& step) {
  Rows rows;
  MeasuredRatios ratios;
  if (plan.simulated_only) {
    ratios.no_page_gain = ratios.no_shootdown = ratios.no_quota = "--simulate measures nothing";
  } else {
    if (Status status = add_translation(plan, step, rows, ratios); !status) return status.error();
    if (Status status = add_faults(plan, step, rows); !status) return status.error();
    add_quota(plan, step, rows, ratios);
    if (Status status = add_shootdowns(plan, step, rows, ratios); !status) return status.error();
  }
  step("the thesis' machine, simulated");
  const SimulatedFigures figures = simulated_figures({.rounds = plan.rounds,
                                                      .part = plan.part,
                                                      .seed = plan.seed,
                                                      .recorded = plan.recorded,
                                                      .told = plan.told});
  add_simulated(figures, rows);
  add_paging(figures, rows);
  step("statements");
  const Result<std::vector<Claim>> claims = all_claims();
  if (!claims) return claims.error();
  const auto statements = statements_of(claims.value(), figures_of(figures, ratios));
  if (!statements) return statements.error();
  for (const Statement& one : statements.value()) rows.push_back(json_of(one));
  return rows;
}

Rows rows_of(const Rows& rows, const std::string& table) {
  Rows some;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(some),
               [&](const ordered_json& row) { return row["table"] == table; });
  return some;
}

ordered_json verdicts_of(const Rows& rows) {
  ordered_json counts = ordered_json::object();
  for (const ordered_json& row : rows_of(rows, "statements")) {
    const std::string verdict = row["verdict"];
    counts[verdict] = counts.value(verdict, 0) + 1;
  }
  return counts;
}

}  // namespace k2k::labs::translation
