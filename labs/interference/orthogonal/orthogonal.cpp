#include "labs/interference/orthogonal/orthogonal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.hpp"
#include "labs/interference/first_core.hpp"
#include "labs/interference/governor/observer.hpp"
#include "labs/interference/governor/study.hpp"
#include "labs/interference/orthogonal/fault_stream.hpp"

namespace k2k::labs::orthogonal {

namespace {

using namespace std::chrono_literals;
using governor::Observer;
using governor::Reading;
using governor::rounded;
using nlohmann::ordered_json;
using server::BottomHalfMode;
using server::Steering;

constexpr std::uint32_t window_us = 13;  // HISS, section V-B: the longest window of its IOMMU.
constexpr Nanoseconds warm_up = 300ms;   // A full bucket is spent at the start.

// Measurements from outside, and the server's own account of the same time.
struct Seen {
  std::vector<Reading> readings;
  server::Stats before;
  server::Stats after;
};

Result<Seen> watch(const Runtime& runtime, const FaultStream& stream, double seconds) {
  Observer observer;
  Seen seen;
  std::this_thread::sleep_for(warm_up);
  for (const bool last : {false, true}) {
    if (last) std::this_thread::sleep_for(Nanoseconds(std::llround(seconds * 1e9)));
    const Result<Reading> reading = observer.read();
    if (!reading) return reading.error();
    seen.readings.push_back(reading.value());
    (last ? seen.after : seen.before) = runtime.stats();
  }
  if (stream.ended()) return Error{ENODATA, "the stream of faults ended by itself"};
  return seen;
}

double answered(const server::Stats& stats) {
  return static_cast<double>(stats.requests - stats.in_flight);
}

const server::CallStats* faults_of(const server::Stats& stats) {
  const auto place = std::find_if(stats.calls.begin(), stats.calls.end(),
                                  [](const auto& call) { return call.name == "fault_in"; });
  return place == stats.calls.end() ? nullptr : &*place;
}

ordered_json row_of(const Case& one, const Seen& seen, std::uint32_t cores) {
  const double share = governor::share_of(seen.readings, cores);
  const double elapsed =
      static_cast<double>((seen.readings.back().when - seen.readings.front().when).count()) / 1e9;
  const double requests = answered(seen.after) - answered(seen.before);
  const server::CallStats* const faults = faults_of(seen.after);
  return {{"steering", steering_of(one)},
          {"coalescing", one.coalescing ? "on" : "off"},
          {"bottom_half", bottom_half_of(one)},
          {"cap", one.cap_permille / 1000.0},
          {"share", rounded(share)},
          {"throughput", rounded(requests / elapsed)},
          {"per_cpu_s", rounded(requests / (share * cores * elapsed))},
          {"delay_p50_us", rounded(faults->p50_us)},
          {"delay_p99_us", rounded(faults->p99_us)}};
}

}  // namespace

const char* steering_of(const Case& one) {
  return one.steering == Steering::steered ? "steered" : "spread";
}

const char* bottom_half_of(const Case& one) {
  switch (one.bottom_half) {
    case BottomHalfMode::staged:
      return "staged";
    case BottomHalfMode::split:
      return "split";
    default:
      return "monolithic";
  }
}

std::vector<Case> all_cases(const std::vector<std::uint32_t>& caps_permille) {
  std::vector<Case> cases;
  for (const std::uint32_t cap : caps_permille) {
    for (const Steering steering : {Steering::spread, Steering::steered}) {
      for (const bool coalescing : {false, true}) {
        for (const BottomHalfMode mode :
             {BottomHalfMode::monolithic, BottomHalfMode::split, BottomHalfMode::staged}) {
          cases.push_back({steering, coalescing, mode, cap});
        }
      }
    }
  }
  return cases;
}

RuntimeConfig configuration_of(const RuntimeConfig& base, const Case& one) {
  RuntimeConfig config = base;
  config.backend = "cpu";
  config.device.compute_units = 1;
  config.server.steering = one.steering;
  config.server.cores.clear();
  if (one.steering == Steering::steered) config.server.cores = {first_core()};
  config.server.coalesce_window_us = one.coalescing ? window_us : 0;
  config.server.bottom_half = one.bottom_half;
  config.server.cap_permille = one.cap_permille;
  config.server.governor = k2k::governor::Policy::budget;
  return config;
}

Result<ordered_json> measure(const RuntimeConfig& base, const Case& one, double seconds) {
  Result<Runtime> runtime = Runtime::create(configuration_of(base, one));
  if (!runtime) return runtime.error();
  FaultStream stream;
  if (Status status = stream.start(runtime.value()); !status) return status.error();
  const Result<Seen> seen = watch(runtime.value(), stream, seconds);
  if (Status status = stream.stop(); !status) return status.error();
  if (!seen) return seen.error();
  const auto cores = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const bool nothing = answered(seen.value().after) <= answered(seen.value().before) ||
                       governor::share_of(seen.value().readings, cores) <= 0;
  if (nothing) {
    return Error{ENODATA, fmt::format("nothing was seen in {:.1f} s; try more --seconds", seconds)};
  }
  return row_of(one, seen.value(), cores);
}

}  // namespace k2k::labs::orthogonal
