#pragma once
// The configuration of a governor: the policy, the cap, the machine and the tenants.
//
// Threading: none; plain values.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "governor/costs.hpp"
#include "governor/governor.hpp"
#include "governor/policy.hpp"

namespace k2k::governor {

// The owner of requests. Budgets of tenants are parts of the cap.
struct TenantConfig {
  double weight = 1;      // Of what guarantees leave; > 0, at most 1e6.
  double guarantee = 0;   // CPU time it always gets, as a fraction of all cores; 0 = none.
  double rate_min = 0;    // Requests a second it always gets, at their measured cost; 0 = none.
  std::string name = {};  // In messages; "" = "tenant" and its index.
};

// Times are CPU time for quantum, burst and service_max, and time of day for the rest.
struct GovernorConfig {
  Policy policy = Policy::budget;
  double cap = 1;             // Fraction of the CPU time of all cores: 0.0001 to 1.
  std::uint32_t cores = 1;    // Of the machine, or simulated: 1 to 65,536.
  std::uint32_t threads = 1;  // Most service threads: 1 to 65,536.
  Costs costs;
  std::vector<TenantConfig> tenants = {{}};  // 1 to tenants_max.
  // No tenant with requests waits longer than this for the next one to be served, whatever its
  // debt. 1 ms to 1 h.
  Nanoseconds delay_max{1'000'000'000};

  // budget, displaced, auto:
  Nanoseconds quantum{250'000};     // q: a batch begins with this much; >= 20 x costs.wake.
  Nanoseconds burst{0};             // B; 0 = the least permitted, as burst_of() says.
  Nanoseconds service_max{50'000};  // Smax: the longest single service to be expected.
  bool hard = false;                // Reserve the predicted cost of a request before it is served.

  // backoff:
  Nanoseconds tick{10'000};         // Period of the background thread; >= 1 us.
  Nanoseconds window{1'000'000};    // It judges the share over this: 1 to 65,536 ticks.
  Nanoseconds first_delay{10'000};  // Doubled at each look while over the limit.

  // displaced:
  double wakes_per_second = 1000;     // Sleeping cores may be woken this often on the average;
  std::uint32_t wake_burst = 8;       // and this often at once.
  Nanoseconds idle_check{2'000'000};  // In debt, a look for idle cores this often, or less.

  // auto:
  double loss_max = 0.05;  // CPU programs lose at most this: 0.001 to 1. `cap` is the upper bound.
  double cap_min = 0.001;  // The cap never falls below.
};

// "tenant 2", or its name. Expects it to be configured.
std::string name_of(const GovernorConfig& config, Tenant tenant);

// Errors: EINVAL; the message names the setting, its value, why, and what is permitted.
Status validate(const GovernorConfig& config);

// The same with another cap, as set_cap() judges it.
GovernorConfig with_cap(const GovernorConfig& config, double cap, Guarantees guarantees);

// Threads that the cap can keep busy, at least 1: each serves at most nine tenths of a core, the
// rest being overhead. The k of the bound.
std::uint32_t useful_threads(const GovernorConfig& config);

// The quanta that a bucket has to hold at least: the one with which a batch begins; what it gains
// while that is out, and counts as if it still lay there; and a tenth, for timers are late. With
// hard limits the cost of a request, a quantum at most, instead of that. At most 2.
double burst_quanta(const GovernorConfig& config);

// B: the configured burst, or else the larger of burst_quanta() x q and k x Smax.
Nanoseconds burst_of(const GovernorConfig& config);

// Errors: those of validate().
Result<std::unique_ptr<Governor>> create(const GovernorConfig& config, Instant now);

}  // namespace k2k::governor
