#include "governor/displaced.hpp"

#include <algorithm>
#include <cmath>

namespace k2k::governor {

namespace {
// All cores may be busy a moment later.
constexpr Nanoseconds free_grant{20'000};
// Looking for idle cores takes at most this part of the budget.
constexpr double looking_max = 0.02;
}  // namespace

Nanoseconds idle_check_of(const GovernorConfig& config) {
  const double rate = config.cap * config.cores;
  const double least = static_cast<double>(config.costs.sleep.count()) / (looking_max * rate);
  return std::max(config.idle_check, Nanoseconds(std::llround(least)));
}

Displaced::Displaced(const GovernorConfig& config, Instant now)
    : Budget(config, now), wakes_(config.wake_burst), wakes_at_(now) {
  retry_within(idle_check_of(config));
}

Decision Displaced::decide(Instant now, const GrantRequest& request) {
  if (request.contended || deep_in_debt(now, request.tenant)) return Budget::decide(now, request);
  served(request.tenant);
  return {.verdict = Verdict::serve, .mask = true, .more = true, .grant = free_grant};
}

void Displaced::settle(Instant now, Nanoseconds reserved, const Spent& spent) {
  refill_wakes(now);
  if (!spent.contended) wakes_ -= spent.wakes;  // Else no core sleeps.
  learn(spent);
  // CPU time granted while all cores were busy is charged, even if a core is idle by now.
  const bool charged = spent.contended || reserved > Nanoseconds::zero();
  credit(now, spent.tenant, reserved, charged ? spent.cpu : Nanoseconds::zero());
}

Status Displaced::set_cap(Instant now, double cap, Guarantees guarantees) {
  Status status = Budget::set_cap(now, cap, guarantees);
  retry_within(idle_check_of(config()));
  return status;
}

Instant Displaced::unmask_at(Instant now) {
  refill_wakes(now);
  if (wakes_ >= 1) return now;
  const double seconds = (1 - wakes_) / config().wakes_per_second;
  const Nanoseconds pause(static_cast<std::int64_t>(std::ceil(seconds * 1e9)));
  return now + std::min(pause, config().delay_max);
}

void Displaced::refill_wakes(Instant now) {
  if (now <= wakes_at_) return;
  const auto elapsed = static_cast<double>((now - wakes_at_).count());
  wakes_at_ = now;
  wakes_ =
      std::min<double>(config().wake_burst, wakes_ + elapsed * 1e-9 * config().wakes_per_second);
}

}  // namespace k2k::governor
