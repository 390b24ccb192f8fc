#include "server/gate.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "server/cores.hpp"

namespace k2k::server {

namespace {

// A batch costs two wakes and a cold start, 30 to 120 us in a virtual machine, so it is as long as
// fairness over 100 ms permits: with a burst of two quanta a window of 100 ms takes at most
// 1 + 2 x 0.45 times the cap. Longer than 1.4 ms gains nothing more.
constexpr double quantum_of_window = 0.45;
constexpr Nanoseconds window = std::chrono::milliseconds(100);
constexpr Nanoseconds quantum_min{250'000};
constexpr Nanoseconds quantum_max{1'400'000};

governor::GovernorConfig governor_of(const ServerConfig& config) {
  governor::GovernorConfig made;
  made.policy = config.governor;
  made.cap = config.cap_permille / 1000.0;
  made.cores = online_cores();
  made.threads = config.threads_max;
  const double of_window = quantum_of_window * made.cap * made.cores;
  const auto quantum = static_cast<std::int64_t>(of_window * static_cast<double>(window.count()));
  made.quantum = std::clamp(Nanoseconds(quantum), quantum_min, quantum_max);
  return made;
}

}  // namespace

Status Gate::configure(const ServerConfig& config) {
  const std::lock_guard lock(mutex_);
  if (config.cap_permille == cap_permille_ &&
      (config.cap_permille == 0 || config.governor == policy_)) {
    return {};
  }
  std::unique_ptr<governor::Governor> next;
  if (config.cap_permille != 0 && governor_ != nullptr && config.governor == policy_) {
    if (Status status = governor_->set_cap(now(), config.cap_permille / 1000.0); !status) {
      return status;
    }
    next = std::move(governor_);
  } else if (config.cap_permille != 0) {
    auto made = governor::create(governor_of(config), now());
    if (!made) return made.error();
    next = std::move(made).value();
    ++epoch_;
  }
  governor_ = std::move(next);
  policy_ = config.governor;
  cap_permille_ = config.cap_permille;
  ++generation_;
  governed_.store(governor_ != nullptr, std::memory_order_relaxed);
  changed_.notify_all();
  return {};
}

bool Gate::pass_governed(Account& account, std::uint32_t requests) {
  account.requests += requests;
  if (account.open && cycles() < account.until) return false;
  return renew(account);
}

bool Gate::renew(Account& account) {
  bool slept = false;
  std::unique_lock lock(mutex_);
  while (governor_ != nullptr) {
    const Instant moment = now();
    settle_locked(account, moment, slept ? costs_.interrupt : Nanoseconds::zero());
    if (suspended_) break;
    const governor::Decision decision = governor_->decide(moment, {});
    if (decision.verdict == governor::Verdict::serve) {
      account.open = true;
      account.reserved = decision.reserved;
      // CPU time is at most the time of day; whether it was less is seen when the grant ends.
      account.until = cycles() + cycles_in(decision.grant);
      break;
    }
    slept = true;
    const std::uint64_t before = generation_;
    changed_.wait_until(lock, decision.until, [&] { return generation_ != before; });
  }
  return slept;
}

void Gate::settle(Account& account, Nanoseconds extra) {
  const std::lock_guard lock(mutex_);
  if (governor_ != nullptr) settle_locked(account, now(), extra);
}

void Gate::settle_locked(Account& account, Instant moment, Nanoseconds extra) {
  const Nanoseconds clock = thread_time();
  if (account.epoch != epoch_) {  // What was spent before there was a cap is nobody's debt.
    account = {};
    account.epoch = epoch_;
    account.charged = clock;
  }
  governor::Spent spent;
  spent.cpu = clock - account.charged + extra;
  spent.requests = account.requests;
  governor_->settle(moment, account.open ? account.reserved : Nanoseconds::zero(), spent);
  account.charged = clock;
  account.requests = 0;
  account.open = false;
}

void Gate::suspend() {
  const std::lock_guard lock(mutex_);
  suspended_ = true;
  ++generation_;
  changed_.notify_all();
}

void Gate::resume() {
  const std::lock_guard lock(mutex_);
  suspended_ = false;
}

GovernorStats Gate::stats() const {
  const std::lock_guard lock(mutex_);
  GovernorStats stats;
  if (governor_ == nullptr) return stats;
  const governor::Report report = governor_->report(now());
  stats.cap = report.cap;
  stats.throttled_seconds = std::chrono::duration<double>(report.throttled).count();
  stats.waits = report.waits;
  stats.forced = report.forced;
  return stats;
}

}  // namespace k2k::server
