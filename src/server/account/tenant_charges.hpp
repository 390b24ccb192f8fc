#pragma once
// The debt of each budget for the work of one service thread, read from the thread's statistics.
//
// The ledger distributes all CPU time of a period over the tenants that were served in it, in
// proportion. So the debts add up to the thread's CPU time, polling and waking included, and
// `--stats` shows them for each tenant.
//
// Threading: the owning thread only.

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "protocol/slot.hpp"
#include "server/account/thread_stats.hpp"

namespace k2k::server {

// The budget of each tenant: an index into TenantBudgets::budgets.
using BudgetOf = std::array<std::atomic<std::uint8_t>, protocol::tenants_max>;

class TenantCharges {
 public:
  struct Charge {
    Nanoseconds cpu{};
    std::uint32_t requests = 0;
  };

  // CPU time before this call is not charged.
  void begin(const ThreadStats& stats) {
    for (std::size_t tenant = 0; tenant < protocol::tenants_max; ++tenant) {
      charged_ns_[tenant] = stats.ledger.tenant_ns(tenant);
      charged_requests_[tenant] = stats.tenant_requests[tenant].value();
    }
    charged_idle_ns_ = stats.ledger.idle_ns();
  }

  // Adds the CPU time since the last call to `charges`, which has one entry per budget; returns the
  // time without requests.
  Nanoseconds take(const ThreadStats& stats, const BudgetOf& budget_of, std::span<Charge> charges) {
    for (std::size_t tenant = 0; tenant < protocol::tenants_max; ++tenant) {
      const std::uint64_t ns = stats.ledger.tenant_ns(tenant);
      const std::uint64_t requests = stats.tenant_requests[tenant].value();
      if (ns == charged_ns_[tenant] && requests == charged_requests_[tenant]) continue;
      Charge& charge = charges[budget_of[tenant].load(std::memory_order_relaxed)];
      charge.cpu += Nanoseconds(static_cast<std::int64_t>(ns - charged_ns_[tenant]));
      charge.requests += static_cast<std::uint32_t>(requests - charged_requests_[tenant]);
      charged_ns_[tenant] = ns;
      charged_requests_[tenant] = requests;
    }
    const std::uint64_t idle = stats.ledger.idle_ns();
    return Nanoseconds(static_cast<std::int64_t>(idle - std::exchange(charged_idle_ns_, idle)));
  }

 private:
  std::array<std::uint64_t, protocol::tenants_max> charged_ns_{};
  std::array<std::uint64_t, protocol::tenants_max> charged_requests_{};
  std::uint64_t charged_idle_ns_ = 0;
};

}  // namespace k2k::server
