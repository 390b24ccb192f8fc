#include "governor/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "governor/automatic.hpp"
#include "governor/backoff.hpp"
#include "governor/budget.hpp"
#include "governor/displaced.hpp"
#include "governor/unlimited.hpp"

namespace k2k::governor {

namespace {

constexpr double cap_min = 0.0001;
constexpr std::uint32_t cores_max = 65'536;
constexpr std::int64_t window_ticks_max = 65'536;
// A batch must justify its wake-up: below this multiple, the budget is spent on wake-ups
// (livelock).
constexpr int quantum_wakes_min = 20;

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

double in_us(Nanoseconds time) { return static_cast<double>(time.count()) / 1e3; }

Error wrong(std::string message) { return Error{EINVAL, std::move(message)}; }

bool budgets(Policy policy) { return policy != Policy::none && policy != Policy::backoff; }

Status check_time(const char* name, Nanoseconds value, Nanoseconds low, Nanoseconds high) {
  if (value >= low && value <= high) return {};
  return wrong(fmt::format("governor.{} is {} us; permitted are {} to {} us", name, in_us(value),
                           in_us(low), in_us(high)));
}

Status check_machine(const GovernorConfig& config) {
  if (config.cores < 1 || config.cores > cores_max) {
    return wrong(fmt::format("governor: {} cores to share; give 1 to {}", config.cores, cores_max));
  }
  if (config.threads < 1 || config.threads > cores_max) {
    return wrong(fmt::format("governor: {} service threads would serve nothing; give 1 to {}",
                             config.threads, cores_max));
  }
  for (const Nanoseconds cost :
       {config.costs.interrupt, config.costs.wake, config.costs.sleep, config.costs.tick}) {
    if (cost >= Nanoseconds::zero() && cost <= seconds(1)) continue;
    return wrong(
        fmt::format("governor: the cost of an event is {} us; permitted are 0 to 1000000 "
                    "us; calibrate again",
                    in_us(cost)));
  }
  return check_time("delay_max", config.delay_max, milliseconds(1), hours(1));
}

Status check_cap(const GovernorConfig& config) {
  if (config.policy == Policy::none) return {};
  if (config.cap >= cap_min && config.cap <= 1) return {};
  return wrong(
      fmt::format("governor.cap is {:.6g} % of the CPU time of all cores; permitted are "
                  "{:g} to 100 %{}",
                  config.cap * 100, cap_min * 100,
                  config.cap == 0 ? "; to serve without a limit use the policy 'none', and "
                                    "to serve nothing stop the server"
                                  : ""));
}

Status check_budget(const GovernorConfig& config) {
  const Nanoseconds least = quantum_wakes_min * config.costs.wake;
  if (config.quantum < least || config.quantum <= Nanoseconds::zero()) {
    return wrong(
        fmt::format("governor.quantum is {} us; it must be at least {} us, {} times the "
                    "{} us of a wake-up, or the budget is spent on waking",
                    in_us(config.quantum), in_us(std::max(least, Nanoseconds(1'000))),
                    quantum_wakes_min, in_us(config.costs.wake)));
  }
  if (config.quantum > seconds(10))
    return check_time("quantum", config.quantum, least, seconds(10));
  if (Status status =
          check_time("service_max", config.service_max, Nanoseconds::zero(), seconds(60));
      !status) {
    return status;
  }
  GovernorConfig unset = config;
  unset.burst = {};
  const Nanoseconds burst_min = burst_of(unset);
  if (config.burst == Nanoseconds::zero() || config.burst >= burst_min) return {};
  return wrong(fmt::format(
      "governor.burst is {} us; it must be at least {} us, the larger of {:.3g} quanta "
      "and service_max on each of {} threads; 0 chooses that",
      in_us(config.burst), in_us(burst_min), burst_quanta(config), useful_threads(config)));
}

Status check_backoff(const GovernorConfig& config) {
  if (Status status = check_time("tick", config.tick, microseconds(1), seconds(1)); !status) {
    return status;
  }
  if (Status status =
          check_time("window", config.window, config.tick, window_ticks_max * config.tick);
      !status) {
    return status;
  }
  return check_time("first_delay", config.first_delay, microseconds(1), seconds(1));
}

Status check_displaced(const GovernorConfig& config) {
  if (!(config.wakes_per_second >= 1 && config.wakes_per_second <= 1e6)) {
    return wrong(fmt::format("governor.wakes_per_second is {:.6g}; permitted are 1 to 1000000",
                             config.wakes_per_second));
  }
  if (config.wake_burst < 1) {
    return wrong("governor.wake_burst is 0, so that no core could ever be woken; give at least 1");
  }
  return check_time("idle_check", config.idle_check, microseconds(10), seconds(10));
}

Status check_automatic(const GovernorConfig& config) {
  if (!(config.loss_max >= 0.001 && config.loss_max <= 1)) {
    return wrong(
        fmt::format("governor.loss_max is {:.6g} %; permitted are 0.1 to 100 % of what CPU "
                    "programs do undisturbed",
                    config.loss_max * 100));
  }
  if (config.cap_min >= cap_min && config.cap_min <= config.cap) return {};
  return wrong(
      fmt::format("governor.cap_min is {:.6g} %; permitted are {:g} % to the cap, {:.6g} %",
                  config.cap_min * 100, cap_min * 100, config.cap * 100));
}

Status check_tenant(const GovernorConfig& config, std::size_t index) {
  const TenantConfig& tenant = config.tenants[index];
  const std::string name = name_of(config, static_cast<Tenant>(index));
  if (!(tenant.weight > 0 && tenant.weight <= 1e6)) {
    return wrong(
        fmt::format("governor: the weight of {} is {:.6g}; give more than 0, at most 1000000", name,
                    tenant.weight));
  }
  if (!(tenant.guarantee >= 0) || !(tenant.rate_min >= 0) || std::isinf(tenant.rate_min)) {
    return wrong(
        fmt::format("governor: {} has a guarantee of {:.6g} % and {:.6g} requests a second; give 0 "
                    "for none, or more",
                    name, tenant.guarantee * 100, tenant.rate_min));
  }
  if ((tenant.guarantee > 0 || tenant.rate_min > 0) && !budgets(config.policy)) {
    return wrong(
        fmt::format("governor: {} has a guarantee, which the policy '{}' cannot keep; use 'budget'",
                    name, name_of(config.policy)));
  }
  return {};
}

Status check_tenants(const GovernorConfig& config) {
  if (config.tenants.empty() || config.tenants.size() > tenants_max) {
    return wrong(
        fmt::format("governor: {} tenants; give 1 to {}", config.tenants.size(), tenants_max));
  }
  double guaranteed = 0;
  for (std::size_t index = 0; index < config.tenants.size(); ++index) {
    if (Status status = check_tenant(config, index); !status) return status;
    guaranteed += config.tenants[index].guarantee;
  }
  if (guaranteed <= config.cap + guarantee_rounding) return {};
  return wrong(
      fmt::format("governor: the tenants are guaranteed {:.6g} % of all cores' CPU time, "
                  "more than the cap of {:.6g} %; raise governor.cap or lower a guarantee",
                  guaranteed * 100, config.cap * 100));
}

}  // namespace

const char* name_of(Policy policy) {
  switch (policy) {
    case Policy::none:
      return "none";
    case Policy::backoff:
      return "backoff";
    case Policy::budget:
      return "budget";
    case Policy::displaced:
      return "displaced";
    case Policy::automatic:
      return "auto";
  }
  return "?";
}

Result<Policy> policy_named(std::string_view name) {
  std::string known;
  for (const Policy policy : all_policies) {
    if (name == name_of(policy)) return policy;
    known += (known.empty() ? "" : ", ") + std::string(name_of(policy));
  }
  return wrong(fmt::format("governor.policy '{}' does not exist; there are {}", name, known));
}

std::string name_of(const GovernorConfig& config, Tenant tenant) {
  const std::string& name = config.tenants[tenant].name;
  return name.empty() ? fmt::format("tenant {}", tenant) : name;
}

GovernorConfig with_cap(const GovernorConfig& config, double cap, Guarantees guarantees) {
  GovernorConfig wanted = config;
  wanted.cap = cap;
  if (guarantees == Guarantees::must_fit) return wanted;
  for (TenantConfig& tenant : wanted.tenants) tenant.guarantee = 0;
  return wanted;
}

std::uint32_t useful_threads(const GovernorConfig& config) {
  constexpr double busy_max = 0.9;
  const double wanted = std::ceil(config.cap * config.cores / busy_max);
  return wanted >= config.threads ? config.threads
                                  : static_cast<std::uint32_t>(std::max(wanted, 1.0));
}

double burst_quanta(const GovernorConfig& config) {
  constexpr double late = 0.1;
  if (config.hard) return 2;
  return std::min(1 + config.cap * config.cores + late, 2.0);
}

Nanoseconds burst_of(const GovernorConfig& config) {
  if (config.burst > Nanoseconds::zero()) return config.burst;
  const double batch = burst_quanta(config) * static_cast<double>(config.quantum.count());
  return std::max(Nanoseconds(std::llround(batch)), config.service_max * useful_threads(config));
}

Status validate(const GovernorConfig& config) {
  if (Status status = check_machine(config); !status) return status;
  if (Status status = check_cap(config); !status) return status;
  if (Status status = check_tenants(config); !status) return status;
  if (config.policy == Policy::backoff) return check_backoff(config);
  if (!budgets(config.policy)) return {};
  if (Status status = check_budget(config); !status) return status;
  if (config.policy == Policy::displaced) return check_displaced(config);
  return config.policy == Policy::automatic ? check_automatic(config) : Status();
}

Result<std::unique_ptr<Governor>> create(const GovernorConfig& config, Instant now) {
  if (Status status = validate(config); !status) return status.error();
  std::unique_ptr<Governor> governor;
  switch (config.policy) {
    case Policy::none:
      governor = std::make_unique<Unlimited>(config);
      break;
    case Policy::backoff:
      governor = std::make_unique<Backoff>(config, now);
      break;
    case Policy::budget:
      governor = std::make_unique<Budget>(config, now);
      break;
    case Policy::displaced:
      governor = std::make_unique<Displaced>(config, now);
      break;
    case Policy::automatic:
      governor = std::make_unique<Automatic>(config, now);
      break;
  }
  return governor;
}

}  // namespace k2k::governor
