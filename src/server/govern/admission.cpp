#include "server/govern/admission.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace k2k::server {

Admission::Admission(std::string proc, const Clocks& clocks)
    : grants_(clocks), keeper_(grants_, waiting_, std::move(proc)) {}

bool Admission::pass_governed(ServiceAccount& account, std::uint32_t requests,
                              std::uint32_t epoch) {
  account.requests += requests;
  if (account.open && account.epoch == epoch && cycles() < account.until) return false;
  return renew(account);
}

bool Admission::renew(ServiceAccount& account) {
  keeper_.refresh_if_due();
  bool waited = false;
  bool slept = false;
  while (true) {
    std::uint64_t ticket = waiting_.ticket();
    if (waiting_.suspended()) {
      settle(account, slept);
      break;
    }
    const Grants::Answer answer = grants_.renew(account, slept);
    if (answer.refunded) ticket = waiting_.wake_all(ticket);
    if (answer.outcome != Grants::Outcome::wait) break;
    waited = true;
    slept = wait_for_budget(ticket, answer.until);
    keeper_.refresh_if_due();
  }
  return waited;
}

bool Admission::wait_for_budget(std::uint64_t ticket, Instant until) {
  const WaitingThreads::ForBudget counted(waiting_);
  return waiting_.sleep(ticket, std::min(until, keeper_.wake_by(now())));
}

bool Admission::request_grant(ServiceAccount& account, std::uint32_t tenant) {
  return waiting_.suspended() || grants_.request_grant(account, tenant);
}

void Admission::settle(ServiceAccount& account, bool woken) {
  if (grants_.settle(account, woken)) waiting_.wake_all();
}

void Admission::sleep_until(ServiceAccount& account, std::uint64_t moment) {
  settle(account, false);
  const std::uint64_t ticket = waiting_.ticket();
  if (waiting_.suspended()) return;
  waiting_.sleep(ticket, real_clocks().instant_of(moment));
}

bool Admission::rest_governed(ServiceAccount& account) {
  std::uint64_t ticket = waiting_.ticket();
  if (waiting_.suspended()) {
    settle(account, false);
    return false;
  }
  const Grants::Rest rest = grants_.rest_masked(account);
  if (rest.refunded) ticket = waiting_.wake_all(ticket);
  if (!rest.until) return false;
  waiting_.sleep(ticket, *rest.until);
  settle(account, true);
  return true;
}

GovernorStats Admission::stats() const {
  GovernorStats stats = grants_.stats();
  const HostLimit host = keeper_.host_limit();
  stats.host_limit = host.limit;
  stats.host_part = host.part;
  stats.host_holders = host.holders;
  return stats;
}

}  // namespace k2k::server
