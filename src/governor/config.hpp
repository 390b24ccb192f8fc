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

// Guarantees may exceed the cap by a rounding error: that is no conflict.
inline constexpr double guarantee_rounding = 1e-9;

// The owner of requests. Budgets of tenants are parts of the cap.
struct TenantConfig {
  double weight = 1;      // Portion of the CPU time beyond guarantees; > 0, at most 1e6.
  double guarantee = 0;   // CPU time that it always gets, as a fraction of all cores; 0: none.
  double rate_min = 0;    // Requests per second that it always gets, at their measured cost; 0:
                          // none.
  std::string name = {};  // For messages; "": "tenant" and its index.
};

// Times are CPU time for quantum, burst and service_max, and wall-clock time for the others.
struct GovernorConfig {
  Policy policy = Policy::budget;
  double cap = 1;             // Fraction of the CPU time of all cores: 0.0001 to 1.
  std::uint32_t cores = 1;    // Of the real or simulated machine: 1 to 65,536.
  std::uint32_t threads = 1;  // Most service threads: 1 to 65,536.
  Costs costs;
  std::vector<TenantConfig> tenants = {{}};  // 1 to tenants_max.
  // No tenant with requests waits longer than this for its next service, whatever its debt. 1 ms to
  // 1 h.
  Nanoseconds delay_max{1'000'000'000};

  // budget, displaced, auto:
  Nanoseconds quantum{250'000};     // q: a batch begins with this much; >= 20 x costs.wake.
  Nanoseconds burst{0};             // B; 0: the smallest permitted, see burst_of().
  Nanoseconds service_max{50'000};  // Smax: the longest expected single service.
  bool hard = false;                // Reserve the predicted cost of a request before it is served.

  // backoff:
  Nanoseconds tick{10'000};         // Period of the background thread; >= 1 us.
  Nanoseconds window{1'000'000};    // The share is computed over this: 1 to 65,536 ticks.
  Nanoseconds first_delay{10'000};  // Doubled at each check above the limit.

  // displaced:
  double wakes_per_second = 1000;     // Average limit on wake-ups of sleeping cores,
  std::uint32_t wake_burst = 8;       // and the limit at once.
  Nanoseconds idle_check{2'000'000};  // In debt, idle cores are checked at most this often.

  // auto:
  double loss_max = 0.05;  // The CPU programs' largest loss: 0.001 to 1. `cap` is the upper bound.
  double cap_min = 0.001;  // The lower bound of the cap.
};

// The tenant's name, or "tenant 2". Expects it to be configured.
std::string name_of(const GovernorConfig& config, Tenant tenant);

// Errors: EINVAL; the message names the setting, its value, the reason, and the permitted values.
Status validate(const GovernorConfig& config);

// The same with another cap, under the rules of set_cap().
GovernorConfig with_cap(const GovernorConfig& config, double cap, Guarantees guarantees);

// The number of threads that the cap can keep busy, at least 1: each serves at most nine tenths of
// a core, because the rest is overhead. The k of the bound.
std::uint32_t useful_threads(const GovernorConfig& config);

// The smallest capacity of a bucket, in quanta: the quantum with which a batch begins; the gain
// while that quantum is reserved, which counts as still in the bucket; and a tenth for late timers.
// In hard mode the second term is instead the cost of a request, at most a quantum. At most 2.
double burst_quanta(const GovernorConfig& config);

// B: the configured burst, or else the larger of burst_quanta() x q and k x Smax.
Nanoseconds burst_of(const GovernorConfig& config);

// Errors: as validate().
Result<std::unique_ptr<Governor>> create(const GovernorConfig& config, Instant now);

}  // namespace k2k::governor
