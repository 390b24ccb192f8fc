#include "labs/translation/statements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

namespace k2k::labs::translation {

namespace {

// A figure that has no noise.
bench::Interval exactly(double value) { return {value, value, value, 1}; }

using Value = double (*)(const Counts&);
double misses(const Counts& one) { return one.misses_a_thousand(); }
double time(const Counts& one) { return one.ns; }

// The ratio of two runs over the rounds, each with the same input in both.
bench::Interval quotient(const ProgramRun& above, const ProgramRun& below, Value value) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < above.rounds.size(); ++round) {
    ratios.push_back(value(above.rounds[round]) / value(below.rounds[round]));
  }
  return bench::interval_of(ratios);
}

bench::Interval each(const ProgramRun& run, Value value) {
  std::vector<double> values;
  for (const Counts& round : run.rounds) values.push_back(value(round));
  return bench::interval_of(values);
}

class Chapter {
 public:
  Chapter(const SimulatedFigures& simulated, const MeasuredRatios& measured)
      : simulated_(simulated), measured_(measured) {}

  OurFigures all() {
    micro_benchmarks();
    page_sizes();
    locality();
    prefetching();
    faults();
    shootdowns();
    invalidations();
    return std::move(figures_);
  }

 private:
  void add(const char* id, const bench::Interval& ours) { figures_[id].ours = ours; }
  // Of a figure that follows from a program's accesses.
  void add_of(const char* program, const std::string& id, const bench::Interval& ours) {
    figures_[id] = {.ours = ours, .accesses = usual(program).recorded ? "recorded" : "modelled"};
  }
  // Of a figure of this machine.
  void add_measured(const char* id, const std::vector<double>& rounds, const std::string& why_not) {
    OurFigure& figure = figures_[id];
    if (rounds.size() >= 2) {
      figure.ours = bench::interval_of(rounds);
    } else {
      figure.why_not = why_not;
    }
  }
  [[nodiscard]] const ProgramRun& usual(const char* program, bool sorted = true) const {
    return simulated_.run_of(program, sorted, small_page, thesis::prefetch_pages);
  }
  [[nodiscard]] const ProgramRun& in_pages(const char* program, std::uint64_t bytes,
                                           bool sorted = true) const {
    return simulated_.run_of(program, sorted, bytes, 1);
  }

  void micro_benchmarks() {
    const auto of = [](std::uint64_t count) { return exactly(static_cast<double>(count)); };
    add("stride-line", of(simulated_.line.misses));
    add("stride-page", of(simulated_.page.misses));
    add("stride-page-prefetched", of(simulated_.page_prefetched.misses));
    add("miss-latency",
        exactly((simulated_.page.ns - simulated_.line.ns) /
                static_cast<double>(simulated_.page.misses - simulated_.line.misses)));
    add("miss-25-times",
        exactly((thesis::page_us - thesis::line_us) / (thesis::page_misses - thesis::line_misses) /
                ((thesis::cpu_page_us - thesis::cpu_line_us) /
                 (thesis::cpu_page_misses - thesis::cpu_line_misses))));
    add("knee", of(knee_of(simulated_.latency)));
  }

  void page_sizes() {
    for (const char* const program : {"bpt", "graph500"}) {
      const std::string name = program;
      add_of(program, name + "-rate", each(usual(program), misses));
      add_of(program, name + "-2m",
             quotient(in_pages(program, large_page), usual(program), misses));
    }
    for (const char* const program : {"bpt", "comd", "miniamr", "graph500", "minife", "xsbench"}) {
      add_of(program, std::string(program) + "-gain",
             quotient(usual(program), in_pages(program, large_page), time));
    }
    add_measured("larger-pages", measured_.page_gain, measured_.no_page_gain);
  }

  void locality() {
    for (const char* const program : {"bpt", "xsbench"}) {
      const std::string name = program;
      add_of(program, name + "-unsorted", quotient(usual(program, false), usual(program), time));
      add_of(program, name + "-1g-misses",
             quotient(in_pages(program, huge_page, false), usual(program, false), misses));
      const ProgramRun& base = usual(program);
      const ProgramRun& slow = usual(program, false);
      const ProgramRun& large = in_pages(program, huge_page, false);
      std::vector<double> parts;
      for (std::size_t round = 0; round < base.rounds.size(); ++round) {
        parts.push_back(std::max(1e-6, (slow.rounds[round].ns - large.rounds[round].ns) /
                                           (slow.rounds[round].ns - base.rounds[round].ns)));
      }
      add_of(program, name + "-1g-time", bench::interval_of(parts));
    }
  }

  void prefetching() {
    const auto effect = [&](const char* program, bool sorted, Value value) {
      return quotient(usual(program, sorted), in_pages(program, small_page, sorted), value);
    };
    add_of("xsbench", "prefetch-xsbench", effect("xsbench", false, misses));
    add_of("xsbench", "prefetch-xsbench-time", effect("xsbench", false, time));
    add_of("miniamr", "prefetch-miniamr", effect("miniamr", true, misses));
  }

  void faults() {
    const std::vector<FaultPoint>& points = simulated_.faults;
    const FaultPoint& one = points.front();
    const FaultPoint& most = points.back();
    const FaultPoint& half = points[points.size() - 2];
    add("faults-one", exactly(one.driver_us));
    add("faults-rate", exactly(most.a_ms));
    add("faults-64", exactly(most.driver_us));
    add("faults-flat", exactly(most.a_ms / half.a_ms));
    add("faults-wait", exactly(thesis::fault_ns / 1e3 / most.driver_us));
    add("faults-80-times", exactly(thesis::most_fault_us / thesis::cpu_fault_us));
    add("faults-clock", exactly(thesis::fast_ghz / thesis::slow_ghz));
    add_measured("faults-quota", measured_.slow_clock, measured_.no_quota);
    add("faults-little", exactly(thesis::lanes / thesis::faults_64_a_ms * 1e3));
    figures_["faults-scale"];  // Of another program: never a figure, and the claim's note says so.
  }

  void shootdowns() {
    add("shootdown-one", exactly(thesis::one_entry.sum()));
    add("shootdown-all", exactly(thesis::all_entries.sum()));
    add("shootdown-same", exactly(thesis::all_entries.sum() / thesis::one_entry.sum()));
    add("shootdown-halves", exactly(thesis::one_entry.iommu / thesis::one_entry.gpu));
    add_measured("shootdown-cores", measured_.shootdown_ns, measured_.no_shootdown);
  }

  void invalidations() {
    add("invalidate-one", exactly(invalidated(1, false).ns));
    add("invalidate-all", exactly(invalidated(1, true).ns));
    add("invalidate-cores", exactly(invalidated(8, false).ns / invalidated(1, false).ns));
  }
  [[nodiscard]] const InvalidationPoint& invalidated(std::uint32_t cores, bool all) const {
    return *std::find_if(
        simulated_.invalidations.begin(), simulated_.invalidations.end(),
        [&](const InvalidationPoint& one) { return one.cores == cores && one.all == all; });
  }

  const SimulatedFigures& simulated_;
  const MeasuredRatios& measured_;
  OurFigures figures_;
};

}  // namespace

const char* Statement::verdict() const {
  if (!ours) return "not measurable here";
  if (ours->low >= low && ours->high <= high) return "reproduced";
  if (ours->high < low || ours->low > high) return "not reproduced";
  return "cannot tell";
}

OurFigures figures_of(const SimulatedFigures& simulated, const MeasuredRatios& measured) {
  OurFigures all = Chapter(simulated, measured).all();
  all.merge(figures_of_order(simulated));
  return all;
}

Statement judged(const Claim& claim, const OurFigure& figure) {
  Statement statement{claim, figure.ours, figure.accesses};
  if (!figure.why_not.empty()) statement.note = figure.why_not;
  return statement;
}

Result<std::vector<Statement>> statements_of(const std::vector<Claim>& claims,
                                             const OurFigures& figures) {
  std::vector<Statement> all;
  for (const Claim& claim : claims) {
    const auto found = figures.find(claim.id);
    if (found == figures.end()) {
      return Error{EINVAL, fmt::format("claims.toml: claim '{}' has no figure; "
                                       "labs/translation/statements.cpp names those there are",
                                       claim.id)};
    }
    all.push_back(judged(claim, found->second));
  }
  for (const auto& [id, figure] : figures) {
    const auto named = [&name = id](const Claim& claim) { return claim.id == name; };
    if (std::ranges::none_of(claims, named)) {
      return Error{EINVAL, fmt::format("claims.toml: no claim for the figure '{}'", id)};
    }
  }
  return all;
}

nlohmann::ordered_json json_of(const Statement& statement) {
  nlohmann::ordered_json json = {{"table", "statements"},
                                 {"id", statement.id},
                                 {"section", statement.section},
                                 {"says", statement.says},
                                 {"thesis", statement.thesis},
                                 {"source", statement.source},
                                 {"accesses", nullptr},
                                 {"permitted", {statement.low, nullptr}},
                                 {"ours", nullptr},
                                 {"verdict", statement.verdict()},
                                 {"note", statement.note}};
  if (statement.accesses != nullptr) json["accesses"] = statement.accesses;
  if (std::isfinite(statement.high)) json["permitted"][1] = statement.high;
  if (statement.ours) {
    json["ours"] = {{"low", statement.ours->low},
                    {"mean", statement.ours->mean},
                    {"high", statement.ours->high},
                    {"rounds", statement.ours->rounds}};
  }
  return json;
}

}  // namespace k2k::labs::translation
