// Where tenants have budgets of their own (docs/design/server.md, "Budgets of tenants").

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.hpp"
#include "server/govern/gate.hpp"

namespace k2k::server {

namespace {

// CPU time that nobody asked for is kept for the next who does, up to this.
constexpr Nanoseconds unbilled_max{1'000'000};

// Of sleeping until the first moment that is worth asking at.
Instant instant_of(std::uint64_t moment, Instant now, std::uint64_t now_cycles) {
  if (moment <= now_cycles) return now;
  const double ns = static_cast<double>(moment - now_cycles) * nanoseconds_per_cycle();
  return now + Nanoseconds(static_cast<std::int64_t>(ns));
}

// The owner's books up to `clock`, its CPU clock; see CpuLedger::catch_up().
void catch_up(ThreadStats& stats, Nanoseconds clock) {
  stats.ledger.catch_up(clock, nanoseconds_per_cycle(), this_core());
}

}  // namespace

governor::Decision Gate::decide(Account& account, Instant moment, bool contended) {
  account.payer = by_tenant() ? governor_->readiest(moment) : 0;
  governor::Decision decision = governor_->decide(
      moment, {.tenant = account.payer, .contended = contended, .look = by_tenant()});
  if (!by_tenant() || decision.verdict == governor::Verdict::serve) return decision;
  // Whose requests this thread keeps may be served before.
  const std::uint64_t now_cycles = cycles();
  for (const Account::Grant& grant : account.grants) {
    if (grant.ask_at <= now_cycles) continue;
    decision.until = std::min(decision.until, instant_of(grant.ask_at, moment, now_cycles));
  }
  return decision;
}

bool Gate::ask(Account& account, std::size_t budget) {
  const std::lock_guard lock(mutex_);
  if (!by_tenant() || suspended_) return true;
  const Instant moment = now();
  const bool wanted = contended(moment);
  Account::Grant& grant = account.grants[budget];
  if (grant.until != 0 || account.epoch != epoch_) settle_locked(account, moment, wanted, {}, 0);
  const governor::Decision decision = governor_->decide(
      moment, {.tenant = static_cast<governor::Tenant>(budget), .contended = wanted});
  const std::uint64_t now_cycles = cycles();
  if (decision.verdict == governor::Verdict::serve) {
    grant = {now_cycles + std::max<std::uint64_t>(cycles_in(decision.grant), 1), decision.reserved,
             0};
    return true;
  }
  grant.ask_at = now_cycles + cycles_in(decision.until - moment);
  return false;
}

void Gate::sleep_until(Account& account, std::uint64_t moment) {
  settle(account, {});
  std::unique_lock lock(mutex_);
  if (suspended_) return;
  sleep_locked(lock, instant_of(moment, now(), cycles()));
}

void Gate::begin_bills(Account& account, Nanoseconds clock) {
  K2K_EXPECT(account.stats != nullptr);
  catch_up(*account.stats, clock);
  account.bills.begin(*account.stats);
}

void Gate::settle_budgets(Account& account, Instant moment, Nanoseconds clock, bool contended,
                          Nanoseconds extra, std::uint32_t wakes) {
  // Looks and wake-ups are for those who are served behind them: until then nobody owes them. Nor
  // should idle tenants, who would lend less.
  if (account.stats->ledger.owed()) catch_up(*account.stats, clock);
  for (TenantBills::Bill& bill : bills_) bill = {};
  const Nanoseconds idle = account.bills.take(*account.stats, budget_of_, bills_);
  account.unbilled += idle + extra;
  Nanoseconds billed{};
  for (const TenantBills::Bill& bill : bills_) billed += bill.cpu;
  if (billed > Nanoseconds::zero()) {
    const double each =
        static_cast<double>(account.unbilled.count()) / static_cast<double>(billed.count());
    for (TenantBills::Bill& bill : bills_) {
      bill.cpu += Nanoseconds(std::llround(static_cast<double>(bill.cpu.count()) * each));
    }
    account.unbilled = {};
  } else if (account.unbilled > unbilled_max) {
    bills_[account.payer].cpu += std::exchange(account.unbilled, {});
  }
  for (std::size_t budget = 0; budget < bills_.size(); ++budget) {
    Account::Grant& grant = account.grants[budget];
    const TenantBills::Bill& bill = bills_[budget];
    const bool pays = budget == account.payer;
    Nanoseconds reserved{};
    if (grant.until != 0) reserved += grant.reserved;
    if (pays && account.open) reserved += account.reserved;
    grant.until = 0;
    if (bill.cpu == Nanoseconds::zero() && reserved == Nanoseconds::zero()) continue;
    governor_->settle(moment, reserved,
                      {.tenant = static_cast<governor::Tenant>(budget),
                       .cpu = bill.cpu,
                       .requests = bill.requests,
                       .wakes = pays ? wakes : 0,
                       .contended = contended});
    charged_ += bill.cpu;
    if (!contended && reserved == Nanoseconds::zero()) free_ += bill.cpu;
  }
  account.requests = 0;
  account.open = false;
}

}  // namespace k2k::server
