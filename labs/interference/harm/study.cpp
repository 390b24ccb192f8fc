#include "labs/interference/harm/study.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "governor/policy.hpp"
#include "labs/interference/harm/machine.hpp"
#include "labs/interference/limited_place.hpp"

namespace k2k::labs::harm {

namespace {

using namespace std::chrono_literals;
using nlohmann::ordered_json;

// A source settles this long before its victim begins.
constexpr double settling_s = 0.02;

// The arms of a comparison's two sides.
std::pair<Arm, Arm> arms_of(Kind kind) {
  switch (kind) {
    case Kind::a_a:
      return {Arm::twin, Arm::twin};
    case Kind::presence:
      return {Arm::alone, Arm::twin};
    case Kind::no_op:
      return {Arm::twin, Arm::no_op};
    case Kind::service:
    case Kind::idle:
      return {Arm::twin, Arm::service};
    case Kind::reverse:
      return {Arm::service, Arm::service};
  }
  return {Arm::alone, Arm::alone};
}

double part_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Logarithm of a quotient; 0 if a side has nothing.
double log_ratio(double b, double a) { return a > 0 && b > 0 ? std::log(b / a) : 0; }

// Adds the logarithm of a quotient, if both sides have a value.
void add_ratio(std::vector<double>& ratios, double a, double b) {
  if (a > 0 && b > 0) ratios.push_back(std::log(b / a));
}

double settling_limited_s(const Crowd& crowd, const StudyOptions& options) {
  const std::chrono::duration<double> acquainted = acquaintance(crowd.devices, crowd.limit);
  return std::max(options.settling_limited_s, acquainted.count());
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* names[] = {"a_a", "presence", "no_op", "service", "idle", "reverse"};
  return names[static_cast<std::size_t>(kind)];
}

std::string Comparison::key() const {
  return fmt::format("{}|{}|{}|{}", victim.name, source, name_of(kind), setting);
}

ordered_json json_of(const Run& run) {
  return {{"wall_s", run.wall_s},
          {"cpu_s", run.cpu_s},
          {"run_delay_s", run.run_delay_s},
          {"rate", run.rate},
          {"service_cpu_s", run.service_cpu_s},
          {"service_share", run.service_share},
          {"governor_cpu_s", run.governor_cpu_s},
          {"wakes", run.wakes},
          {"interrupts", run.interrupts},
          {"asleep", run.asleep},
          {"polling", run.polling},
          {"idle", run.idle},
          {"tail_s", run.tail_s},
          {"cache_misses", run.counts.cache_misses},
          {"branch_misses", run.counts.branch_misses},
          {"stolen", run.stolen}};
}

Run run_from(const ordered_json& json) {
  Run run;
  run.wall_s = json.at("wall_s");
  run.cpu_s = json.at("cpu_s");
  run.run_delay_s = json.at("run_delay_s");
  run.rate = json.at("rate");
  run.service_cpu_s = json.at("service_cpu_s");
  run.service_share = json.at("service_share");
  run.governor_cpu_s = json.at("governor_cpu_s");
  run.wakes = json.at("wakes");
  run.interrupts = json.at("interrupts");
  run.asleep = json.at("asleep");
  run.polling = json.at("polling");
  run.idle = json.at("idle");
  run.tail_s = json.at("tail_s");
  // Records of a machine without counters, and older ones, have none.
  run.counts = {json.value("cache_misses", -1.0), json.value("branch_misses", -1.0)};
  run.stolen = json.at("stolen");
  return run;
}

Figures figures_of(const std::vector<std::pair<Run, Run>>& pairs, Kind kind, const StopRule& rule,
                   std::uint64_t seed) {
  std::vector<double> occupied;
  std::vector<double> inflation;
  std::vector<double> delay;
  std::vector<double> wall;
  std::vector<double> stolen;
  std::vector<double> polluted;
  std::vector<double> loss;
  std::vector<double> share;
  std::vector<double> idle_gap;
  std::vector<double> tail;
  std::vector<double> cache_misses;
  std::vector<double> branch_misses;
  std::vector<double> rate;
  std::vector<double> interrupts;
  std::vector<double> asleep;
  std::vector<double> rate_level;
  std::vector<double> wakes_level;
  std::vector<double> asleep_level;
  std::vector<double> asleep_ratio;
  Figures figures;
  figures.made = pairs.size();
  for (const auto& [a, b] : pairs) {
    if (std::max(a.stolen, b.stolen) > stolen_max) {
      ++figures.discarded;
      continue;
    }
    occupied.push_back(log_ratio(b.cpu_s + b.run_delay_s, a.cpu_s + a.run_delay_s));
    inflation.push_back(log_ratio(b.cpu_s, a.cpu_s));
    delay.push_back(a.cpu_s > 0 ? (b.run_delay_s - a.run_delay_s) / a.cpu_s : 0);
    wall.push_back(log_ratio(b.wall_s, a.wall_s));
    stolen.push_back(part_of(b.run_delay_s - a.run_delay_s, a.cpu_s + a.run_delay_s));
    polluted.push_back(part_of(b.cpu_s - a.cpu_s, a.cpu_s + a.run_delay_s));
    loss.push_back(part_of(b.wall_s - a.wall_s, a.wall_s));
    share.push_back(b.service_share);
    add_ratio(tail, a.tail_s, b.tail_s);
    add_ratio(cache_misses, a.counts.cache_misses, b.counts.cache_misses);
    add_ratio(branch_misses, a.counts.branch_misses, b.counts.branch_misses);
    for (const Run* one : {&a, &b}) {
      if (one->asleep < 0 || one->polling < 0) continue;
      idle_gap.push_back(one->asleep + one->polling - one->idle);
    }
    rate.push_back(log_ratio(b.rate, a.rate));
    interrupts.push_back(log_ratio(b.interrupts, a.interrupts));
    if (a.asleep >= 0 && b.asleep >= 0) {
      asleep.push_back(b.asleep - a.asleep);
      asleep_ratio.push_back(log_ratio(b.asleep, a.asleep));
      figures.mean_asleep_before += a.asleep;
      figures.mean_asleep += b.asleep;
    }
    figures.mean_idle += b.idle;
    figures.mean_polling += std::max(0.0, b.polling);
    if (b.rate > 0) rate_level.push_back(std::log(b.rate));
    if (b.wakes > 0) wakes_level.push_back(std::log(b.wakes));
    if (b.asleep > 0) asleep_level.push_back(std::log(b.asleep));
    figures.mean_rate += b.rate;
    figures.mean_service_share += b.service_share;
    figures.mean_governor_share += b.wall_s > 0 ? b.governor_cpu_s / b.wall_s : 0;
    figures.mean_wakes += b.wakes;
  }
  figures.occupied = bootstrap(occupied, seed);
  figures.inflation = bootstrap(inflation, seed + 1);
  figures.delay = bootstrap(delay, seed + 2);
  figures.wall = bootstrap(wall, seed + 3);
  figures.rate = bootstrap(rate, seed + 4);
  figures.interrupts = bootstrap(interrupts, seed + 5);
  figures.asleep = bootstrap(asleep, seed + 6);
  figures.asleep_ratio = bootstrap(asleep_ratio, seed + 7);
  figures.sleep_shown = !asleep.empty();
  figures.rate_level = bootstrap(rate_level, seed + 8);
  figures.wakes_level = bootstrap(wakes_level, seed + 9);
  figures.asleep_level = bootstrap(asleep_level, seed + 10);
  figures.stolen = bootstrap(stolen, seed + 11);
  figures.polluted = bootstrap(polluted, seed + 12);
  figures.loss = bootstrap(loss, seed + 13);
  figures.share = bootstrap(share, seed + 14);
  figures.idle_gap = bootstrap(idle_gap, seed + 15);
  figures.tail = bootstrap(tail, seed + 16);
  figures.cache_misses = bootstrap(cache_misses, seed + 17);
  figures.branch_misses = bootstrap(branch_misses, seed + 18);
  if (const auto counted = static_cast<double>(occupied.size()); counted > 0) {
    figures.mean_rate /= counted;
    figures.mean_service_share /= counted;
    figures.mean_governor_share /= counted;
    figures.mean_wakes /= counted;
    figures.mean_asleep_before /= counted;
    figures.mean_asleep /= counted;
    figures.mean_idle /= counted;
    figures.mean_polling /= counted;
  }
  const std::vector<Estimate> primary =
      kind == Kind::reverse ? std::vector<Estimate>{figures.rate}
      : kind == Kind::idle && figures.sleep_shown
          ? std::vector<Estimate>{figures.asleep}
          : std::vector<Estimate>{figures.inflation, figures.delay};
  figures.end = end_of(primary, figures.made, rule);
  return figures;
}

double Study::elapsed_s() const { return seconds_since(begin_); }

// The source's requests a second with idle cores.
Result<double> Study::rate_of(const Comparison& comparison) {
  const std::string key = comparison.source + "|" + comparison.setting;
  if (const auto known = rates_.find(key); known != rates_.end()) return known->second;
  Comparison alone = comparison;
  alone.kind = Kind::reverse;
  const Result<Run> run = measure(alone, false);
  if (!run) return run.error();
  return rates_[key] = run.value().rate;
}

Status Study::same_cores() const {
  const std::string online = text_of(options_.online);
  if (online == online_) return {};
  return Error{ENXIO,
               fmt::format("cores {} are online, and {} were when the study began; the run "
                           "in progress does not count; --out FILE --resume goes on with the "
                           "cores of the beginning",
                           online, online_)};
}

Result<Run> Study::measure(const Comparison& comparison, bool side) {
  const auto [first, second] = arms_of(comparison.kind);
  const Arm arm = side ? second : first;
  const bool no_victim =
      comparison.kind == Kind::idle || (comparison.kind == Kind::reverse && !side);
  std::optional<TemporaryFolder> limited;  // Outlives the sources.
  Result<std::vector<SourceProcess>> sources = start_sources(comparison, arm, limited);
  if (!sources) return sources.error();
  double settling = settling_s;
  if (limited) settling = settling_limited_s(crowd_of(comparison.setting).value(), options_);
  std::this_thread::sleep_for(std::chrono::duration<double>(settling));
  if (stopped()) return Error{ECANCELED, "stopped"};
  if (Status status = let_auto_settle(comparison, no_victim); !status) return status.error();
  for (SourceProcess& source : sources.value()) {
    if (Status status = source.count(); !status) return status.error();
  }
  if (comparison.kind == Kind::idle) visit_cores();
  const Counters before = read_counters();
  const Instant begin = now();
  Run run;
  // The same number of turns in both arms.
  const double turns =
      limited ? std::max(1.0, std::ceil(options_.run_limited_s / options_.run_s)) : 1;
  for (double turn = 0; turn < turns; ++turn) {
    if (no_victim) {
      std::this_thread::sleep_for(std::chrono::duration<double>(options_.run_s));
      if (stopped()) return Error{ECANCELED, "stopped"};
      run.wall_s = seconds_since(begin);
      continue;
    }
    const Result<Usage> usage = run_victim(comparison.victim, options_.threads, *stopped_);
    if (!usage) return usage.error();
    run.wall_s += usage.value().wall_s;
    run.cpu_s += usage.value().cpu_s;
    run.run_delay_s += usage.value().run_delay_s;
    run.tail_s = std::max(run.tail_s, usage.value().tail_s);
    run.counts.add(usage.value().counts);
  }
  const double took = seconds_since(begin);
  if (comparison.kind == Kind::idle) visit_cores();
  const Counters after = read_counters();
  const auto cores = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  run.stolen = (after.stolen_s - before.stolen_s) / (took * cores);
  run.interrupts = (after.interrupts - before.interrupts) / (took * cores);
  run.idle = (after.idle_s - before.idle_s) / (took * cores);
  if (before.asleep_s >= 0 && after.asleep_s >= 0) {
    run.asleep = (after.asleep_s - before.asleep_s) / (took * cores);
  }
  if (before.polling_s >= 0 && after.polling_s >= 0) {
    run.polling = (after.polling_s - before.polling_s) / (took * cores);
  }
  double requests = 0;
  double wakes = 0;
  for (SourceProcess& source : sources.value()) {
    const Result<SourceReport> report = source.end();
    if (!report) return report.error();
    const SourceReport& seen = report.value();
    if (seen.errors != 0) {
      return Error{EIO, fmt::format("{} of {} answers of the source were wrong", seen.errors,
                                    seen.requests)};
    }
    run.rate += seen.rate();
    run.service_cpu_s += seen.service_cpu_s;
    run.service_share += seen.seconds > 0 ? seen.service_cpu_s / (seen.seconds * cores) : 0;
    run.governor_cpu_s += seen.governor_cpu_s;
    requests += static_cast<double>(seen.requests);
    wakes += static_cast<double>(seen.wakes);
  }
  if (requests > 0) run.wakes = wakes / requests;
  if (Status status = same_cores(); !status) return status.error();
  if (stopped()) return Error{ECANCELED, "stopped"};
  return run;
}

bool is_automatic(const std::string& setting, const RuntimeConfig& config) {
  const auto server = setting_of(setting, config.server);
  return server.ok() && server.value().governor == k2k::governor::Policy::automatic;
}

double cost_of(const Comparison& comparison, const StudyOptions& options) {
  if (is_automatic(comparison.setting, options.config)) {
    return 1 + options.settling_auto_s / options.run_s;
  }
  const Result<Crowd> crowd = crowd_of(comparison.setting);
  if (!crowd || crowd.value().limit == 0) return 1;
  return (settling_limited_s(crowd.value(), options) +
          std::max(options.run_limited_s, options.run_s)) /
         options.run_s;
}

std::vector<double> parts_of(const std::vector<Comparison>& comparisons,
                             const StudyOptions& options) {
  std::vector<double> parts(comparisons.size());
  double cost_left = 0;
  for (std::size_t at = comparisons.size(); at-- > 0;) {
    const double cost = cost_of(comparisons[at], options);
    cost_left += cost;
    parts[at] = cost / cost_left;
  }
  return parts;
}

Status Study::let_auto_settle(const Comparison& comparison, bool no_victim) const {
  if (!is_automatic(comparison.setting, options_.config)) return {};
  const Instant begin = now();
  while (seconds_since(begin) < options_.settling_auto_s) {
    if (no_victim) {
      std::this_thread::sleep_for(std::chrono::duration<double>(options_.settling_auto_s / 10));
    } else if (const auto usage = run_victim(comparison.victim, options_.threads, *stopped_);
               !usage) {
      return usage.error();
    }
    if (stopped()) return Error{ECANCELED, "stopped"};
  }
  return {};
}

Result<std::vector<SourceProcess>> Study::start_sources(const Comparison& comparison, Arm arm,
                                                        std::optional<TemporaryFolder>& limited) {
  std::vector<SourceProcess> sources;
  if (arm == Arm::alone) return sources;
  RuntimeConfig config = options_.config;
  const Result<server::ServerConfig> setting = setting_of(comparison.setting, config.server);
  if (!setting) return setting.error();
  config.server = setting.value();
  const Result<Crowd> crowd = crowd_of(comparison.setting);
  if (!crowd) return crowd.error();
  if (crowd.value().limit > 0) {
    Result<TemporaryFolder> folder = limited_place(crowd.value().limit);
    if (!folder) return folder.error();
    limited.emplace(std::move(folder).value());
  }
  Result<Trace> trace = source_of(comparison.source, options_.seed);
  if (arm == Arm::no_op) {
    const Result<double> rate = rate_of(comparison);
    if (!rate) return rate.error();
    trace = no_ops(rate.value());
  }
  if (!trace) return trace.error();
  const bool by_kernel = comparison.source == kernel_source;
  for (unsigned device = 0; device < crowd.value().devices; ++device) {
    Result<SourceProcess> started =
        SourceProcess::start({.config = config,
                              .arm = arm,
                              .trace = trace.value(),
                              .kernel = by_kernel ? options_.kernel : nullptr,
                              .host_dir = limited ? host_place(*limited).path : std::string()},
                             *stopped_);
    if (!started) return started.error();
    sources.push_back(std::move(started).value());
  }
  return sources;
}

Result<Figures> Study::compare(const Comparison& comparison, const EarlierRuns& earlier,
                               const Keep& keep, double until_s,
                               const std::function<void(std::size_t)>& progress) {
  const std::string key = comparison.key();
  const std::uint64_t seed = seed_of(options_.seed, key);
  std::vector<std::pair<Run, Run>> pairs;
  const auto place_of = [&](std::size_t block, std::size_t place) {
    return fmt::format("{}|{}|{}", key, block, place);
  };
  const auto pair_known = [&](std::size_t number) {
    const std::size_t place = number % 2 * 2;
    return earlier.contains(place_of(number / 2, place)) &&
           earlier.contains(place_of(number / 2, place + 1));
  };
  Figures figures = figures_of(pairs, comparison.kind, options_.rule, seed);
  for (std::size_t block = 0; figures.end == End::goes_on; ++block) {
    const std::array<bool, 4> order = block_order(options_.seed, key, block);
    std::array<Run, 4> runs;
    for (std::size_t place = 0; place < 4; ++place) {
      const std::string at = place_of(block, place);
      if (const auto known = earlier.find(at); known != earlier.end()) {
        runs[place] = known->second;
      } else {
        const bool enough = pairs.size() >= options_.rule.pairs_cut;
        if (place % 2 == 0 && enough && until_s > 0 && elapsed_s() > until_s) {
          figures.cut = true;
          return figures;
        }
        progress(pairs.size());
        const Result<Run> run = measure(comparison, order[place]);
        if (!run && run.error().code == ECANCELED && stopped()) {
          figures.cut = true;
          return figures;
        }
        if (!run) {
          // Whatever failed may have failed because a core is gone.
          const Status same = same_cores();
          return same ? run.error() : same.error();
        }
        runs[place] = run.value();
        ordered_json record = {{"kind", "run"}, {"at", at}, {"side", order[place] ? "B" : "A"}};
        record.update(json_of(run.value()));
        if (Status status = keep(record); !status) return status.error();
      }
      if (place % 2 == 0) continue;
      const std::size_t one = place - 1;
      pairs.emplace_back(runs[order[one] ? place : one], runs[order[one] ? one : place]);
      // A study that goes on knows that the comparison did not end here: the next pair was
      // measured.
      if (pair_known(pairs.size())) continue;
      figures = figures_of(pairs, comparison.kind, options_.rule, seed);
    }
  }
  return figures;
}

Result<std::vector<Outcome>> Study::run(const std::vector<Comparison>& comparisons,
                                        const EarlierRuns& earlier, const Keep& keep,
                                        const Progress& progress) {
  begin_ = now();
  std::vector<Outcome> outcomes;
  std::map<std::string, std::string> problems;  // Of victims.
  const std::vector<double> parts = parts_of(comparisons, options_);
  for (std::size_t at = 0; at < comparisons.size(); ++at) {
    const Comparison& comparison = comparisons[at];
    Outcome outcome{.comparison = comparison};
    if (const auto known = problems.find(comparison.victim.name); known != problems.end()) {
      outcome.problem = known->second;
      outcomes.push_back(std::move(outcome));
      continue;
    }
    const double begun = elapsed_s();
    const auto left = static_cast<double>(comparisons.size() - at);
    const double until =
        options_.longest_s > 0 ? begun + std::max(0.0, options_.longest_s - begun) * parts[at] : 0;
    const auto tell = [&](std::size_t pairs) {
      const double took = elapsed_s() - begun;
      const double each = pairs > 0 ? took / static_cast<double>(pairs) : 0;
      const double rest = options_.longest_s > 0
                              ? options_.longest_s - elapsed_s()
                              : each * (static_cast<double>(options_.rule.pairs_max) * left -
                                        static_cast<double>(pairs));
      progress(at, comparison, pairs, std::max(0.0, rest));
    };
    bool kept = true;
    const Keep keeping = [&](const ordered_json& record) {
      const Status status = keep(record);
      kept = status.ok();
      return status;
    };
    Result<Figures> figures = compare(comparison, earlier, keeping, until, tell);
    if (!figures) {
      if (!kept || !same_cores()) return figures.error();
      outcome.problem = figures.error().message;
      if (figures.error().code == ECHILD) problems[comparison.victim.name] = outcome.problem;
    } else {
      outcome.figures = std::move(figures).value();
    }
    outcomes.push_back(std::move(outcome));
    if (stopped()) break;
  }
  return outcomes;
}

}  // namespace k2k::labs::harm
