#include "server/govern/tenant_accounts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/contract.hpp"

namespace k2k::server {

namespace {

// CPU time without requests is kept for the next tenant that is served, up to this.
constexpr Nanoseconds uncharged_max{1'000'000};

// Brings the thread's ledger up to `clock`, its CPU clock; see CpuLedger::catch_up().
void catch_up(ThreadStats& stats, Nanoseconds clock, const Clocks& clocks) {
  stats.ledger.catch_up(clock, clocks.nanoseconds_per_cycle(), clocks.core());
}

}  // namespace

void TenantAccounts::divide(const TenantBudgets& budgets, std::vector<std::uint32_t>& tenants,
                            bool capped) {
  for (std::size_t tenant = 0; tenant < budget_of_.size(); ++tenant) {
    budget_of_[tenant].store(budgets.budget_of[tenant], std::memory_order_relaxed);
  }
  std::swap(tenants_, tenants);
  divided_.store(capped && tenants_.size() > 1, std::memory_order_relaxed);
}

void TenantAccounts::begin(ServiceAccount& account, Nanoseconds clock, const Clocks& clocks) {
  K2K_EXPECT(account.stats != nullptr);
  catch_up(*account.stats, clock, clocks);
  account.charges.begin(*account.stats);
}

std::span<const TenantAccounts::Charge> TenantAccounts::charges_of(ServiceAccount& account,
                                                                   Nanoseconds clock,
                                                                   Nanoseconds extra,
                                                                   const Clocks& clocks,
                                                                   Charges& charges) const {
  const std::span<Charge> all(charges.data(), tenants_.size());
  std::fill(all.begin(), all.end(), Charge{});
  if (account.stats->ledger.owed()) catch_up(*account.stats, clock, clocks);
  const Nanoseconds idle = account.charges.take(*account.stats, budget_of_, all);
  account.uncharged += idle + extra;
  Nanoseconds charged{};
  for (const Charge& charge : all) charged += charge.cpu;
  if (charged > Nanoseconds::zero()) {
    const double each =
        static_cast<double>(account.uncharged.count()) / static_cast<double>(charged.count());
    for (Charge& charge : all) {
      charge.cpu += Nanoseconds(std::llround(static_cast<double>(charge.cpu.count()) * each));
    }
    account.uncharged = {};
  } else if (account.uncharged > uncharged_max) {
    all[account.payer].cpu += std::exchange(account.uncharged, {});
  }
  return all;
}

Instant TenantAccounts::ask_again(const ServiceAccount& account, Instant until,
                                  const Clocks& clocks) {
  std::uint64_t first = ~std::uint64_t{0};
  const std::uint64_t now_cycles = clocks.cycles();
  for (const ServiceAccount::Grant& grant : account.grants) {
    if (grant.retry_at > now_cycles) first = std::min(first, grant.retry_at);
  }
  return first == ~std::uint64_t{0} ? until : std::min(until, clocks.instant_of(first));
}

}  // namespace k2k::server
