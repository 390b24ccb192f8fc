#pragma once
// Where tenants have budgets of their own under the cap (docs/design/server.md, "Budgets of
// tenants"): the budget of each tenant, and the charges from a service thread's statistics.
//
// CPU time without requests (looks, interrupts) is for the tenants that are served next: until then
// no tenant owes it, and idle tenants lend their tokens.
//
// Threading: divided() and budget_of() from anywhere. divide() and tenants() under the lock of
// Grants, and so are bills, whose account belongs to the calling thread.

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "server/account/tenant_bills.hpp"
#include "server/govern/clocks.hpp"
#include "server/govern/service_account.hpp"
#include "server/settings/tenants.hpp"

namespace k2k::server {

class TenantAccounts {
 public:
  using Bill = TenantBills::Bill;
  using Bills = std::array<Bill, governor::tenants_max>;

  // From now on. `capped` = false: there is no cap to divide. Hands back the former list.
  void divide(const TenantBudgets& budgets, std::vector<std::uint32_t>& tenants, bool capped);

  // Have tenants budgets of their own?
  [[nodiscard]] bool divided() const { return divided_.load(std::memory_order_relaxed); }
  // Below governor::tenants_max.
  [[nodiscard]] std::size_t budget_of(std::uint32_t tenant) const {
    return budget_of_[tenant].load(std::memory_order_relaxed);
  }
  // The owner of each budget; of the shared one 0.
  [[nodiscard]] const std::vector<std::uint32_t>& tenants() const { return tenants_; }

  // Up to the thread's CPU clock `clock`, nothing is owed. Expects an account with statistics.
  static void begin(ServiceAccount& account, Nanoseconds clock, const Clocks& clocks);
  // The debt of each budget since then; `extra` is CPU time beside the thread's clock. One a
  // budget.
  std::span<const Bill> bill(ServiceAccount& account, Nanoseconds clock, Nanoseconds extra,
                             const Clocks& clocks, Bills& bills) const;
  // The first moment before `until` at which a request that the thread keeps may be admitted.
  static Instant ask_again(const ServiceAccount& account, Instant until, const Clocks& clocks);

 private:
  std::atomic<bool> divided_{false};
  BudgetOf budget_of_{};
  std::vector<std::uint32_t> tenants_;
};

}  // namespace k2k::server
