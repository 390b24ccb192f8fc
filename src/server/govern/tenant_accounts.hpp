#pragma once
// Budgets of tenants under the cap (docs/design/server.md, "Budgets of tenants"): the budget of
// each tenant, and the charges from a service thread's statistics.
//
// CPU time without requests (looks, interrupts) is charged to the tenants that are served next.
// Until then no tenant owes it, and idle tenants lend their tokens.
//
// Threading: divided() and budget_of() from anywhere. divide(), tenants() and charges_of() under
// the lock of Grants; an account belongs to the calling thread.

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "server/account/tenant_charges.hpp"
#include "server/govern/clocks.hpp"
#include "server/govern/service_account.hpp"
#include "server/settings/tenants.hpp"

namespace k2k::server {

class TenantAccounts {
 public:
  using Charge = TenantCharges::Charge;
  using Charges = std::array<Charge, governor::tenants_max>;

  // Puts `budgets` in force. `capped` = false: there is no cap to divide. Returns the former list
  // in `tenants`.
  void divide(const TenantBudgets& budgets, std::vector<std::uint32_t>& tenants, bool capped);

  // Returns true if tenants have budgets of their own.
  [[nodiscard]] bool divided() const { return divided_.load(std::memory_order_relaxed); }
  // Below governor::tenants_max.
  [[nodiscard]] std::size_t budget_of(std::uint32_t tenant) const {
    return budget_of_[tenant].load(std::memory_order_relaxed);
  }
  // The owner of each budget; 0 for the shared one.
  [[nodiscard]] const std::vector<std::uint32_t>& tenants() const { return tenants_; }

  // CPU time before the thread's CPU clock `clock` is no debt. Expects an account with statistics.
  static void begin(ServiceAccount& account, Nanoseconds clock, const Clocks& clocks);
  // Returns the debt of each budget since the last charge; `extra` is CPU time that the thread's
  // clock does not include.
  std::span<const Charge> charges_of(ServiceAccount& account, Nanoseconds clock, Nanoseconds extra,
                                     const Clocks& clocks, Charges& charges) const;
  // The first moment before `until` at which a request that the thread keeps may be admitted.
  static Instant ask_again(const ServiceAccount& account, Instant until, const Clocks& clocks);

 private:
  std::atomic<bool> divided_{false};
  BudgetOf budget_of_{};
  std::vector<std::uint32_t> tenants_;
};

}  // namespace k2k::server
