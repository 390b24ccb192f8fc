#include "server/govern/rule.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace k2k::server {

namespace {

// A batch costs two wakes and a cold start, 30 to 150 us in a virtual machine, so it is as long as
// fairness over 100 ms permits: with this burst, service in any 100 ms consumes at most 1.9 times
// the cap.
constexpr double burst_of_window = 0.9;
constexpr Nanoseconds window = std::chrono::milliseconds(100);
constexpr Nanoseconds quantum_min{250'000};
constexpr Nanoseconds quantum_max{1'600'000};
constexpr Nanoseconds no_idle_check = std::chrono::seconds(10);  // Longer than any wait.

// `cap_most` is the largest cap until the configuration or the host limit changes again.
governor::GovernorConfig governor_of(const EffectiveLimits& limits, double cap_most,
                                     const ServerConfig& config, const TenantBudgets& tenants) {
  governor::GovernorConfig made;
  made.policy = limits.policy;
  made.cap = limits.cap;
  made.cores = limits.cores;
  made.threads = config.threads_max;
  made.loss_max = config.loss_max_permille / 1000.0;
  made.cap_min = std::min(made.cap_min, made.cap);
  // `auto` is expected to consume about the permitted loss.
  const bool automatic = made.policy == governor::Policy::automatic;
  const double expected = automatic ? std::min(cap_most, made.loss_max) : cap_most;
  // Each budget may save a burst.
  made.tenants = tenants.budgets;
  const double burst = burst_of_window * expected * made.cores *
                       static_cast<double>(window.count()) /
                       static_cast<double>(made.tenants.size());
  const Nanoseconds quantum(std::llround(burst / governor::burst_quanta(made)));
  made.quantum = std::clamp(quantum, quantum_min, quantum_max);
  return made;
}

// A thread in debt need not look for idle cores, because the sensors' thread wakes it. With budgets
// of tenants it must look, because it asks for its requests again at set times.
governor::GovernorConfig policy_of(const governor::GovernorConfig& config) {
  governor::GovernorConfig made = config;
  const bool woken = made.policy == governor::Policy::displaced && made.tenants.size() == 1;
  if (woken) made.idle_check = no_idle_check;
  return made;
}

Result<std::unique_ptr<governor::Governor>> create(governor::GovernorConfig config, double cap_own,
                                                   Instant now) {
  const bool promised =
      std::any_of(config.tenants.begin(), config.tenants.end(),
                  [](const governor::TenantConfig& tenant) { return tenant.guarantee > 0; });
  // As in Grants::set_cap(): guarantees are checked against the runtime's own cap only.
  const double cap = config.cap;
  if (promised) config.cap = cap_own;
  auto governor = governor::create(config, now);
  if (!governor || !promised || cap >= cap_own) return governor;
  const auto guarantees = governor::Guarantees::may_conflict;
  if (Status status = governor.value()->set_cap(now, cap, guarantees); !status) {
    return status.error();
  }
  return governor;
}

}  // namespace

Result<PreparedRule> prepare(const EffectiveLimits& limits, const ServerConfig& config,
                             const HostLimit& host, Instant now, Grants& grants,
                             WaitingThreads& waiting, const std::string& proc) {
  PreparedRule prepared;
  if (limits.policy == governor::Policy::none) return prepared;
  const double cap_own = own_cap(config);
  const double cap_most = host.limit > 0 ? std::min(cap_own, host.limit) : cap_own;
  // The published rule has no tenants: asked once per tenant, it would double its delay each time.
  const bool budgets = limits.policy != governor::Policy::backoff;
  auto tenants = parse_tenants(budgets ? std::string_view(limits.tenants) : "");
  if (!tenants) return tenants.error();
  Grants::Rule& rule = prepared.rule;
  rule.tenants = std::move(tenants).value();
  governor::GovernorConfig made = governor_of(limits, cap_most, config, rule.tenants);
  auto governor = create(policy_of(made), cap_own, now);
  if (!governor) return governor.error();
  rule.governor = std::move(governor).value();
  auto sensors = Sensors::start(made, grants, waiting, proc);
  if (!sensors) return sensors.error();
  prepared.sensors = std::move(sensors).value();
  if (prepared.sensors) {
    rule.sensors = prepared.sensors->about();
    rule.contended = prepared.sensors->contended();
  }
  return prepared;
}

}  // namespace k2k::server
