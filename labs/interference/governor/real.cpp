#include "labs/interference/governor/real.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "k2k/trace.hpp"
#include "labs/interference/governor/busy.hpp"
#include "labs/interference/governor/observer.hpp"
#include "labs/interference/governor/running_load.hpp"
#include "labs/interference/governor/study.hpp"
#include "labs/interference/harm/pairs.hpp"
#include "labs/interference/options.hpp"
#include "telemetry/ledger.hpp"

namespace k2k::labs::governor {

namespace {

namespace policy = k2k::governor;

using namespace std::chrono_literals;
using nlohmann::ordered_json;
using policy::Policy;

constexpr double usual_caps[] = {0.01, 0.05, 0.25};
constexpr Nanoseconds warm_up = 500ms;
constexpr Nanoseconds reading_period = 20ms;
constexpr Nanoseconds worst_window = 100ms;

constexpr double seconds_of_all = 55;
constexpr double seconds_around = 1.5;  // Calibration, and finishing the outstanding requests at
                                        // each end.
constexpr double seconds_of_a_row = 8;  // At most.
constexpr double seconds_least = 1;
// One side of a pair: CPU programs run beside the load, or alone.
constexpr Nanoseconds side_settles = 300ms;  // A saved budget is spent, clocks and caches settle.
constexpr int side_looks = 10;               // Readings of their progress after that.
constexpr Nanoseconds side_look = 100ms;     // The time over which a cap is fair.
constexpr Nanoseconds pair_length = 2 * (side_settles + side_looks * side_look);

// Measurements from outside, and the server's own account of the same time.
struct Seen {
  std::vector<Reading> readings;
  Nanoseconds elapsed{};  // Between the server's two accounts.
  server::Stats before;
  server::Stats after;
  Nanoseconds device{};  // CPU time of the device's threads.
};

double seconds_of(Nanoseconds time) { return static_cast<double>(time.count()) / 1e9; }

double ledger_seconds(const server::Stats& stats) {
  return std::accumulate(stats.stage_seconds.begin(), stats.stage_seconds.end(), 0.0);
}

double completed(const Seen& seen) {
  return static_cast<double>(seen.after.requests - seen.after.in_flight) -
         static_cast<double>(seen.before.requests - seen.before.in_flight);
}

Result<std::vector<Reading>> watch(const RunningLoad& load, Observer& observer,
                                   Nanoseconds length) {
  std::vector<Reading> readings;
  const Instant begin = now();
  for (Instant next = begin; !load.ended(); next += reading_period) {
    std::this_thread::sleep_until(std::min(next, begin + length));
    const Result<Reading> reading = observer.read();
    if (!reading) return reading.error();
    readings.push_back(reading.value());
    if (next >= begin + length) break;
  }
  return readings;
}

Result<Seen> watch_both(const Runtime& runtime, const RunningLoad& load, Nanoseconds length) {
  Observer observer;
  const auto unseen = watch(load, observer, warm_up);
  if (!unseen) return unseen.error();
  Observer device(is_device_thread);
  const auto device_before = device.read();
  if (!device_before) return device_before.error();
  Seen seen;
  seen.before = runtime.stats();
  const Instant begin = now();
  auto readings = watch(load, observer, length - warm_up);
  if (!readings) return readings.error();
  seen.readings = std::move(readings.value());
  seen.after = runtime.stats();
  seen.elapsed = now() - begin;
  const auto device_after = device.read();
  if (!device_after) return device_after.error();
  seen.device = device_after.value().cpu - device_before.value().cpu;
  return seen;
}

// CPU time per request, by the ledger's stages.
using StageTimes = std::array<double, telemetry::stage_count>;

StageTimes stage_us(const Seen& seen) {
  StageTimes times{};
  for (std::size_t stage = 0; stage < times.size(); ++stage) {
    const double used = seen.after.stage_seconds[stage] - seen.before.stage_seconds[stage];
    times[stage] = used * 1e6 / completed(seen);
  }
  return times;
}

ordered_json json_of(const StageTimes& times) {
  ordered_json json;
  for (std::size_t stage = 0; stage < times.size(); ++stage) {
    json[telemetry::stage_keys[stage]] = rounded(times[stage]);
  }
  return json;
}

RuntimeConfig configuration(const RuntimeConfig& base, const RealCase& one, Source source) {
  RuntimeConfig config = base;
  config.backend = source == Source::trace ? "trace" : "cpu";
  config.device.compute_units = 1;
  config.device.strict = false;  // Reads are larger than a block of the arena.
  const auto permille = static_cast<std::uint32_t>(std::lround(one.cap * 1000));
  config.server.cap_permille = permille;
  if (one.policy == Policy::none) return config;
  config.server.governor = one.policy;
  if (one.policy == Policy::automatic) {
    config.server.cap_permille = 1000;
    config.server.loss_max_permille = permille;
  }
  return config;
}

// The rate of CPU programs on one side of a pair.
double rate_of(const BusyPrograms& programs) {
  std::this_thread::sleep_for(side_settles);
  std::vector<Progress> looks = {programs.done()};
  for (int look = 0; look < side_looks; ++look) {
    std::this_thread::sleep_for(side_look);
    looks.push_back(programs.done());
  }
  return median_rate(looks);
}

// A load that can be started again and again.
class RepeatedLoad {
 public:
  RepeatedLoad(Runtime& runtime, RunningLoad::Work work, Nanoseconds patience)
      : runtime_(runtime), work_(std::move(work)), patience_(patience) {}
  // Calls `look` while the load runs.
  template <class Look>
  Status run(const Look& look) const {
    RunningLoad load;
    if (Status status = load.start(runtime_, work_, patience_); !status) return status;
    const Status seen = look(load);
    const Status status = load.stop();
    return status ? seen : status;
  }

 private:
  Runtime& runtime_;
  RunningLoad::Work work_;
  Nanoseconds patience_;
};

// Logarithms of the programs' rate beside the load, divided by their rate alone.
Result<std::vector<double>> rates_in_pairs(const BusyPrograms& programs, const RepeatedLoad& load,
                                           std::size_t pairs, std::uint64_t seed,
                                           std::string_view name) {
  std::vector<double> logarithms;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const auto order = harm::block_order(seed, name, pair / 2);
    double rates[2] = {};
    for (std::size_t run = 0; run < 2; ++run) {
      const bool beside = order[pair % 2 * 2 + run];
      if (!beside) {
        rates[0] = rate_of(programs);
        continue;
      }
      const Status status = load.run([&](const RunningLoad&) -> Status {
        rates[1] = rate_of(programs);
        return {};
      });
      if (!status) return status.error();
    }
    if (rates[0] <= 0 || rates[1] <= 0) {
      return Error{ENODATA, "the CPU programs made no progress; try a higher --busy"};
    }
    logarithms.push_back(std::log(rates[1] / rates[0]));
  }
  return logarithms;
}

constexpr Nanoseconds longest_replay = 1h;  // Until it is cancelled.

// Work for a RunningLoad; ends by cancellation.
Status replay(const Trace& trace, Runtime& runtime, TraceReport& report) {
  const auto replayed = trace.replay(runtime, {.longest = longest_replay}, &report);
  if (!replayed) return replayed.error();
  return Error{ENODATA, "the trace ended before it was told to"};
}

// Does the policy alternate between serving and sleeping? Back-off sleeps between any two looks.
bool has_batches(Policy policy) { return policy != Policy::none && policy != Policy::backoff; }

Status check(const TraceReport& report) {
  if (report.errors == 0) return {};
  return Error{EIO, fmt::format("{} of {} answers to the trace were wrong; the first: {}",
                                report.errors, report.requests, report.first_error)};
}

}  // namespace

const char* name_of(Source source) { return source == Source::trace ? "trace" : "reads"; }

Result<std::vector<RealCase>> real_cases(const std::vector<Policy>& policies,
                                         const std::vector<double>& caps) {
  // Policies that need CPU programs on the machine run only if named.
  std::vector<Policy> possible = {Policy::none, Policy::budget, Policy::backoff};
  if (!policies.empty()) possible.insert(possible.end(), {Policy::displaced, Policy::automatic});
  for (const double cap : caps) {
    if (Status status = check_real_cap(cap); !status) return status.error();
  }
  std::vector<RealCase> cases;
  for (const Policy one : possible) {
    if (!wanted(policies, one)) continue;
    if (one == Policy::none) {
      cases.push_back({one, 0});
    } else if (caps.empty()) {
      for (const double cap : usual_caps) cases.push_back({one, cap});
    } else {
      for (const double cap : caps) cases.push_back({one, cap});
    }
  }
  return cases;
}

double real_seconds(const std::vector<RealCase>& cases, bool reference, bool busy) {
  double there = seconds_of_all - seconds_around - (reference ? reference_seconds : 0);
  for (const RealCase& one : cases) {
    if (busy) {
      there -= seconds_of(pair_length);
      continue;
    }
    there -= reference_seconds;
    if (has_batches(one.policy)) there -= 2 * bare_seconds;
  }
  return std::clamp(there / static_cast<double>(cases.size()), seconds_least, seconds_of_a_row);
}

ordered_json loss_in_pairs(const std::vector<double>& logarithms, std::uint64_t seed) {
  ordered_json loss = {{"cpu_loss", nullptr},
                       {"cpu_loss_low", nullptr},
                       {"cpu_loss_high", nullptr},
                       {"cpu_loss_pairs", logarithms.size()}};
  if (logarithms.empty()) return loss;
  const harm::Estimate estimate = harm::bootstrap(logarithms, seed);
  loss["cpu_loss"] = rounded(1 - std::exp(estimate.mean));
  if (logarithms.size() < pairs_of_an_interval) return loss;
  loss["cpu_loss_low"] = rounded(1 - std::exp(estimate.high));
  loss["cpu_loss_high"] = rounded(1 - std::exp(estimate.low));
  return loss;
}

RealLab::RealLab(const RuntimeConfig& base, std::uint64_t seed, CpuPrograms programs, Source source,
                 RandomReads reads)
    : base_(base),
      seed_(seed),
      programs_(programs),
      source_(source),
      reads_(std::move(reads)),
      cores_(static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)))) {}

Result<RealLab> RealLab::create(const RuntimeConfig& base, std::uint64_t seed, CpuPrograms programs,
                                Source source) {
  Result<RandomReads> reads = RandomReads::create();
  if (!reads) return reads.error();
  return RealLab(base, seed, programs, source, std::move(reads.value()));
}

Status RealLab::reference() {
  const Result<ordered_json> row = measure({Policy::none, 0}, reference_seconds, 0);
  return row ? Status{} : row.error();
}

Result<ordered_json> RealLab::row(const RealCase& one, double seconds) {
  const double before = service_us_;
  Result<ordered_json> row = measure(one, seconds, programs_.pairs);
  if (!row || one.policy == Policy::none) return row;
  K2K_EXPECT(before > 0);
  if (programs_.busy == 0) {
    if (Status status = compare(one, row.value()); !status) return status.error();
  }
  const double throughput = row.value()["throughput"].get<double>();
  const double uncapped_us = (before + service_us_) / 2;
  row.value()["uncapped_service_us"] = {rounded(before), rounded(service_us_)};
  row.value()["of_uncapped"] = rounded(throughput * uncapped_us * 1e-6 / (one.cap * cores_));
  return row;
}

Status RealLab::compare(const RealCase& one, ordered_json& row) {
  const double waits = row["waits"].get<double>();
  const bool rhythm = source_ == Source::reads && has_batches(one.policy) && waits > 0;
  BareReads bare;
  const auto look = [&]() -> Status {
    if (!rhythm) return {};
    const auto nanoseconds = [](double time) { return Nanoseconds(std::llround(time * 1e9)); };
    const double batch = row["share"].get<double>() * cores_ / waits;
    const Result<BareReads> seen =
        reads_.bare({nanoseconds(batch), nanoseconds(1 / waits)}, seed_, nanoseconds(bare_seconds));
    if (!seen) return seen.error();
    bare.requests += seen.value().requests;
    bare.cpu += seen.value().cpu;
    return {};
  };
  if (Status status = look(); !status) return status;
  const Result<ordered_json> behind = measure({Policy::none, 0}, reference_seconds, 0);
  if (!behind) return behind.error();
  if (Status status = look(); !status) return status;
  if (!rhythm) return {};
  const double bare_per_cpu_s = static_cast<double>(bare.requests) / seconds_of(bare.cpu);
  row["of_bare"] = rounded(row["per_cpu_s"].get<double>() / bare_per_cpu_s);
  return {};
}

Result<ordered_json> RealLab::measure(const RealCase& one, double seconds, std::size_t pairs) {
  BusyPrograms programs;
  if (programs_.busy > 0) {
    if (Status status = programs.start(cores_, programs_.busy); !status) return status.error();
  }
  Result<Runtime> runtime = Runtime::create(configuration(base_, one, source_));
  if (!runtime) return runtime.error();
  const bool traced = source_ == Source::trace;
  const Result<Trace> trace = Trace::named("uniform", seed_);
  if (!trace) return trace.error();
  TraceReport report;
  const RunningLoad::Work work = [&](const std::atomic<bool>& stop) {
    return traced ? replay(trace.value(), runtime.value(), report)
                  : reads_.run(runtime.value(), seed_, stop);
  };
  const RepeatedLoad load(runtime.value(), work, traced ? 0s : 1s);
  const auto length = Nanoseconds(std::llround(seconds * 1e9));
  Result<Seen> watched = Seen{};
  if (Status status = load.run([&](const RunningLoad& running) -> Status {
        watched = watch_both(runtime.value(), running, length);
        return watched ? Status{} : watched.error();
      });
      !status) {
    return status.error();
  }
  if (Status status = check(report); !status) return status.error();

  const Seen& seen = watched.value();
  const double share = share_of(seen.readings, cores_);
  const double elapsed = seconds_of(seen.elapsed);
  const double cpu_seconds = share * cores_ * elapsed;
  const double throughput = completed(seen) / elapsed;
  if (cpu_seconds <= 0 || throughput <= 0) {
    return Error{ENODATA, fmt::format("nothing was seen in {:.1f} s: {:.0f} requests, {:.3f} s of "
                                      "CPU time in /proc/self/task/*/schedstat; try more --seconds",
                                      elapsed, completed(seen), cpu_seconds)};
  }
  const double device = traced ? seconds_of(report.device) / (seconds_of(report.elapsed) * cores_)
                               : seconds_of(seen.device) / (elapsed * cores_);
  const bool capped = one.policy != Policy::none;
  std::vector<double> rates;
  if (programs_.busy > 0 && pairs > 0) {
    const std::string name = fmt::format("{} {}", policy::name_of(one.policy), one.cap);
    auto seen_in_pairs = rates_in_pairs(programs, load, pairs, seed_, name);
    if (!seen_in_pairs) return seen_in_pairs.error();
    rates = std::move(seen_in_pairs.value());
    if (Status status = check(report); !status) return status.error();
  }
  const StageTimes stages = stage_us(seen);
  const double service_us = stages[static_cast<std::size_t>(telemetry::Stage::service)];
  if (!capped) service_us_ = service_us;
  const double ledger = ledger_seconds(seen.after) - ledger_seconds(seen.before);
  const double waits = static_cast<double>(seen.after.governor.waits - seen.before.governor.waits);
  ordered_json row = {{"policy", policy::name_of(one.policy)},
                      {"load", traced ? "real: trace uniform" : "real: random bytes"},
                      {"cap", capped ? one.cap : 1},
                      {"share", rounded(share)},
                      {"worst_100ms", rounded(worst_share_of(seen.readings, worst_window, cores_))},
                      {"throughput", rounded(throughput)},
                      {"per_cpu_s", rounded(completed(seen) / cpu_seconds)},
                      {"of_ideal", nullptr},
                      {"of_uncapped", nullptr},
                      {"uncapped_service_us", nullptr},
                      {"of_bare", nullptr},
                      {"service_us", rounded(service_us)},
                      {"stage_us", json_of(stages)},
                      {"ledger_share", rounded(ledger / (elapsed * cores_))},
                      {"waits", rounded(waits / elapsed)},
                      {"forced", seen.after.governor.forced - seen.before.governor.forced},
                      {"busy", programs_.busy},
                      {"cpu_loss", nullptr},
                      {"device_share", rounded(device)},
                      {"displaced", nullptr},
                      {"loss_seen", nullptr},
                      {"sensors", seen.after.governor.sensors}};
  if (capped) {
    row["of_ideal"] = rounded(throughput * service_us * 1e-6 / (one.cap * cores_));
  }
  row.update(loss_in_pairs(rates, seed_));
  if (one.policy == Policy::displaced) {
    const double free = seen.after.governor.free_seconds - seen.before.governor.free_seconds;
    row["displaced"] = rounded(std::max(0.0, share - free / (elapsed * cores_)));
  }
  if (one.policy == Policy::automatic) row["loss_seen"] = rounded(seen.after.governor.loss);
  return row;
}

}  // namespace k2k::labs::governor
