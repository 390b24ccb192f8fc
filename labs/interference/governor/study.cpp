#include "labs/interference/governor/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace k2k::labs::governor {

namespace {

namespace policy = k2k::governor;

using nlohmann::ordered_json;
using policy::Policy;

constexpr double caps[] = {0.01, 0.05, 0.25};

// Long enough that the start does not show, and that the mean of the service times settles.
constexpr double cpu_seconds_min = 0.4;
constexpr double requests_min = 20'000;
constexpr double seconds_min = 8;
constexpr double run_seconds_max = 400;
constexpr double seconds_unlimited = 2;

// The smallest loss that `auto` can be configured for.
constexpr double loss_min = 0.001;

Load default_load() { return {.name = "study"}; }

std::vector<Load> more_loads() {
  return {
      {.name = "one core", .cores = 1},
      {.name = "burst after silence", .silent_s = 1},
      {.name = "log-normal", .service = ServiceTime::lognormal(8, 0.8, 2, 50)},
      {.name = "uvm-sized",
       .cores = 16,
       .service = ServiceTime::lognormal(300, 0.7, 40, 2600),
       .outstanding = 8},
      // 260,000 faults a second without a cap, and 4.3 us of CPU time each: 28 % of the four cores.
      {.name = "paper-calibrated", .service = ServiceTime::fixed(2.75), .think_us = 238},
  };
}

Load busy_load(double busy) {
  return {.name = fmt::format("cores {:.0f} % busy", busy * 100), .busy = busy};
}

void add(std::vector<Case>& cases, const Load& load, const std::vector<Policy>& sensible,
         const std::vector<Policy>& policies) {
  for (const Policy one : sensible) {
    if (!wanted(policies, one)) continue;
    if (one == Policy::none) {
      cases.push_back({one, load, 1});
    } else {
      for (const double cap : caps) cases.push_back({one, load, cap});
    }
  }
}

double seconds_of(const Case& one) {
  if (one.policy == Policy::none) return seconds_unlimited;
  const double cpu = std::max(cpu_seconds_min, requests_min * one.load.service.mean_us() * 1e-6);
  const double rate = one.cap * one.load.cores;
  const double least = one.load.silent_s > 0 ? 2 : seconds_min;
  return std::clamp(cpu / rate, least, run_seconds_max);
}

}  // namespace

bool wanted(const std::vector<Policy>& policies, Policy one) {
  return policies.empty() || std::find(policies.begin(), policies.end(), one) != policies.end();
}

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10, 5 - std::ceil(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

std::vector<Case> study(bool all, const std::vector<Policy>& policies) {
  std::vector<Case> cases;
  const std::vector<Policy> usual = {Policy::none, Policy::backoff, Policy::budget};
  // Policies that are not meant for a machine with permanently busy cores run only if named.
  add(cases, default_load(),
      policies.empty()
          ? usual
          : std::vector<Policy>(std::begin(policy::all_policies), std::end(policy::all_policies)),
      policies);
  if (!all) return cases;
  if (policies.empty()) add(cases, default_load(), {Policy::automatic}, policies);
  for (const Load& load : more_loads()) add(cases, load, usual, policies);
  for (const double busy : {0.9, 0.75}) {
    add(cases, busy_load(busy), {Policy::budget, Policy::displaced}, policies);
  }
  return cases;
}

std::vector<Case> custom(const Load& load, double cap, const std::vector<Policy>& policies) {
  std::vector<Case> cases;
  for (const Policy one : policy::all_policies) {
    if (wanted(policies, one)) cases.push_back({one, load, one == Policy::none ? 1 : cap});
  }
  return cases;
}

policy::GovernorConfig configuration(const Case& one) {
  policy::GovernorConfig config;
  config.policy = one.policy;
  config.cap = one.cap;
  config.cores = one.load.cores;
  config.threads = one.load.cores;
  config.service_max = Nanoseconds(std::llround(one.load.service.longest_us() * 1e3));
  if (one.policy == Policy::automatic) {
    config.loss_max = std::max(one.cap, loss_min);
    config.cap = 1;
    config.cap_min = std::min(config.cap_min, one.cap);
  }
  return config;
}

Result<ordered_json> run(const Case& one, std::uint64_t seed) {
  const Result<Outcome> outcome = simulate(one.load, configuration(one), seconds_of(one), seed);
  if (!outcome) return outcome.error();
  const Outcome& out = outcome.value();
  K2K_EXPECT(out.lost == 0);
  const double ideal = one.cap * one.load.cores / (one.load.service.mean_us() * 1e-6);
  return ordered_json{{"policy", policy::name_of(one.policy)},
                      {"load", one.load.name},
                      {"cap", one.cap},
                      {"share", rounded(out.share)},
                      {"worst_100ms", rounded(out.worst_100ms)},
                      {"throughput", rounded(out.throughput)},
                      {"per_cpu_s", rounded(out.per_cpu_s)},
                      {"of_ideal", rounded(out.throughput / ideal)},
                      {"displaced", rounded(out.displaced)},
                      {"wakes", rounded(out.wakes)}};
}

}  // namespace k2k::labs::governor
