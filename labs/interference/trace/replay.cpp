#include "labs/interference/trace/replay.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "labs/interference/governor/observer.hpp"
#include "labs/interference/governor/study.hpp"

namespace k2k::labs::trace {

namespace {

using namespace std::chrono_literals;
using governor::Observer;
using governor::Reading;
using governor::rounded;
using nlohmann::ordered_json;

constexpr Nanoseconds reading_period = 20ms;
constexpr Nanoseconds worst_window = 100ms;

double seconds_of(Nanoseconds time) { return static_cast<double>(time.count()) / 1e9; }

// A replay in progress. The destructor ends it.
class Running {
 public:
  Running(Runtime& runtime, const Trace& trace, const TraceOptions& options) : runtime_(runtime) {
    thread_ = std::thread([this, &trace, options] {
      result_.emplace(trace.replay(runtime_, options));
      ended_.store(true, std::memory_order_release);  // Pairs with ended().
    });
  }
  ~Running() {
    if (!thread_.joinable()) return;
    while (!ended()) {  // Repeatedly: the launch may not have begun.
      runtime_.cancel();
      std::this_thread::sleep_for(1ms);
    }
    thread_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  [[nodiscard]] bool ended() const { return ended_.load(std::memory_order_acquire); }
  Result<TraceReport> result() {
    thread_.join();
    return *result_;
  }

 private:
  Runtime& runtime_;
  std::optional<Result<TraceReport>> result_;  // Written before ended_ is released.
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

struct Seen {
  std::vector<Reading> readings;
  TraceReport report;
};

ordered_json tenants_of(const server::Stats& stats) {
  ordered_json tenants = ordered_json::array();
  for (const server::TenantStats& one : stats.tenants) {
    tenants.push_back(
        {{"tenant", one.tenant}, {"requests", one.requests}, {"cpu_s", rounded(one.cpu_seconds)}});
  }
  return tenants;
}

Result<Seen> watch(Runtime& runtime, const Trace& trace, const TraceOptions& options) {
  Seen seen;
  Observer observer;
  const auto look = [&]() -> Status {
    const Result<Reading> reading = observer.read();
    if (!reading) return reading.error();
    seen.readings.push_back(reading.value());
    return {};
  };
  if (Status status = look(); !status) return status.error();
  Running running(runtime, trace, options);
  while (!running.ended()) {
    std::this_thread::sleep_for(reading_period);
    if (Status status = look(); !status) return status.error();
  }
  Result<TraceReport> report = running.result();
  if (!report) return report.error();
  seen.report = std::move(report.value());
  return seen;
}

}  // namespace

Result<Trace> trace_of(const std::string& file_or_name, std::uint64_t seed) {
  if (::access(file_or_name.c_str(), F_OK) == 0) return Trace::load(file_or_name);
  auto trace = Trace::named(file_or_name, seed);
  if (trace) return trace;
  return Error{trace.error().code,
               fmt::format("there is no file '{}', and {}", file_or_name, trace.error().message)};
}

Result<ordered_json> measure(const RuntimeConfig& base, const Trace& trace,
                             const TraceOptions& options) {
  RuntimeConfig config = base;
  config.backend = "trace";
  Result<Runtime> runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  const Result<Seen> watched = watch(runtime.value(), trace, options);
  if (!watched) return watched.error();
  const TraceReport& report = watched.value().report;
  const std::vector<Reading>& readings = watched.value().readings;
  const server::Stats stats = runtime->stats();

  const auto cores = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const double elapsed = std::max(seconds_of(report.elapsed), 1e-9);
  const auto requests = static_cast<double>(report.requests);
  const double share = governor::share_of(readings, cores);
  const double cpu_seconds = seconds_of(readings.back().cpu - readings.front().cpu);
  const double device_seconds = seconds_of(report.device);
  const auto per = [](double amount, double of) { return of > 0 ? rounded(amount / of) : 0; };
  ordered_json row = {
      {"trace", trace.name()},
      {"cap", nullptr},
      {"requests", report.requests},
      {"seconds", rounded(elapsed)},
      {"throughput", per(requests, elapsed)},
      {"delay_p50_us", rounded(report.delay_us(0.5))},
      {"delay_p99_us", rounded(report.delay_us(0.99))},
      {"stalled", per(seconds_of(report.stalled), elapsed)},
      {"share", rounded(share)},
      {"worst_100ms", rounded(governor::worst_share_of(readings, worst_window, cores))},
      {"device_share", per(device_seconds, elapsed * cores)},
      {"device_ns", per(device_seconds * 1e9, requests)},
      {"per_cpu_s", per(requests, cpu_seconds)},
      {"bundle", per(static_cast<double>(stats.requests), static_cast<double>(stats.bundles))},
      {"waits", per(static_cast<double>(stats.governor.waits), elapsed)},
      {"tenants", tenants_of(stats)},
      {"errors", report.errors},
      {"first_error", report.first_error}};
  if (config.server.cap_permille != 0) row["cap"] = config.server.cap_permille / 1000.0;
  return row;
}

}  // namespace k2k::labs::trace
