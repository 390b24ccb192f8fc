#include "labs/interference/coalescing/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "k2k/trace.hpp"
#include "telemetry/request_times.hpp"

namespace k2k::labs::coalescing {

namespace {

using k2k::governor::CoalesceSetting;

RuntimeConfig configuration(const RuntimeConfig& base, std::uint32_t delay_us) {
  RuntimeConfig config = base;
  config.backend = "trace";
  config.server.coalescing = server::Coalescing::adaptive;
  config.server.coalesce_delay_us = delay_us;
  return config;
}

RuntimeConfig configuration(const RuntimeConfig& base, CoalesceSetting setting) {
  RuntimeConfig config = base;
  config.backend = "trace";
  config.server.coalescing = server::Coalescing::fixed;
  config.server.coalesce_window_us = setting.window_us;
  config.server.coalesce_max = setting.max;
  return config;
}

// A server's counters so far.
struct Counted {
  double clocks_s = 0;
  double ledger_s = 0;
  double delay_cycles = 0;
  std::uint64_t changes = 0;
};
Counted count(const Runtime& runtime) {
  const server::Stats stats = runtime.stats();
  constexpr auto scheduling = static_cast<std::size_t>(telemetry::RequestPart::scheduling);
  return {stats.thread_seconds,
          std::accumulate(stats.stage_seconds.begin(), stats.stage_seconds.end(), 0.0),
          static_cast<double>(stats.times.sum_cycles[scheduling]), stats.coalescing_changes};
}

class Bench {
 public:
  Bench(const Shape& shape, const Plan& plan) : shape_(shape), plan_(plan) {}

  // Errors: as Runtime::create().
  Status prepare(const RuntimeConfig& base) {
    for (const CoalesceSetting setting : fixed_settings()) {
      if (Status status = add(configuration(base, setting)); !status) return status;
      measured_.rounds.fixed.push_back({setting, {}});
    }
    return add(configuration(base, plan_.delay_us));
  }

  // Adaptive coalescing learns from events that no round contains, in slices as long as the rounds'
  // slices.
  Status warm_up() {
    std::uint64_t seed = ~plan_.seed;
    for (Nanoseconds left = plan_.warm_up; left > Nanoseconds::zero(); left -= plan_.slice) {
      const Result<Slice> unseen = replay(runtimes_.back(), seed--);
      if (!unseen) return unseen.error();
    }
    measured_.changes = 0;
    return {};
  }

  Status round(std::uint32_t number) {
    for (std::size_t turn = 0; turn < runtimes_.size(); ++turn) {
      const std::size_t index = (turn + number) % runtimes_.size();
      const Result<Slice> slice = replay(runtimes_[index], round_seed(plan_, number));
      if (!slice) return slice.error();
      const bool adaptive = index + 1 == runtimes_.size();
      (adaptive ? measured_.rounds.adaptive : measured_.rounds.fixed[index])
          .rounds.push_back(slice.value());
    }
    return {};
  }

  Measured take() { return std::move(measured_); }

 private:
  Status add(const RuntimeConfig& config) {
    Result<Runtime> runtime = Runtime::create(config);
    if (!runtime) return runtime.error();
    runtimes_.push_back(std::move(runtime).value());
    return {};
  }

  Result<Slice> replay(Runtime& runtime, std::uint64_t seed) {
    const Result<Trace> trace =
        Trace::of(shape_.events(seed, plan_.slice), std::string(shape_.name));
    if (!trace) return trace.error();
    const Counted before = count(runtime);
    const Result<TraceReport> report =
        trace.value().replay(runtime, {.outstanding = shape_.outstanding});
    if (!report) return report.error();
    const Counted after = count(runtime);
    if (report.value().errors != 0) {
      return Error{EIO, fmt::format("{}: {} of {} answers were wrong; the first: {}", shape_.name,
                                    report.value().errors, report.value().requests,
                                    report.value().first_error)};
    }
    const double clocks = after.clocks_s - before.clocks_s;
    const double ledger = after.ledger_s - before.ledger_s;
    measured_.ledger_off = std::max(measured_.ledger_off, std::abs(ledger / clocks - 1));
    measured_.changes += after.changes - before.changes;
    return Slice{clocks * 1e9, static_cast<double>(report.value().answered),
                 (after.delay_cycles - before.delay_cycles) * nanoseconds_per_cycle()};
  }

  const Shape& shape_;
  const Plan& plan_;
  std::vector<Runtime> runtimes_;  // One for each fixed setting; the last is adaptive.
  Measured measured_;
};

}  // namespace

Result<Measured> measure(const RuntimeConfig& base, const Shape& shape, const Plan& plan,
                         const std::function<void(std::uint32_t round)>& tell) {
  Bench bench(shape, plan);
  if (Status status = bench.prepare(base); !status) return status.error();
  tell(0);
  if (Status status = bench.warm_up(); !status) return status.error();
  for (std::uint32_t round = 0; round < plan.rounds; ++round) {
    tell(round + 1);
    if (Status status = bench.round(round); !status) return status.error();
  }
  return bench.take();
}

}  // namespace k2k::labs::coalescing
