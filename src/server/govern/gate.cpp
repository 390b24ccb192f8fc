#include "server/govern/gate.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/cores.hpp"
#include "server/govern/sensors.hpp"

namespace k2k::server {

namespace {
// Who sleeps until its tokens are there is told when another thread gives so many back. At 1 % of
// two cores this is 5 ms of what it would have slept.
constexpr Nanoseconds refund_worth_a_wake{100'000};
}  // namespace

Gate::Gate(std::string proc)
    : proc_(std::move(proc)), share_(host::override_path(), online_cores()) {}
Gate::~Gate() { stop_sensors(); }  // Before what its thread uses.

bool Gate::pass_governed(Account& account, std::uint32_t requests) {
  account.requests += requests;
  if (account.open && cycles() < account.until) return false;
  return renew(account);
}

bool Gate::renew(Account& account) {
  if (look_is_due()) look();
  bool slept = false;
  bool told = false;
  std::unique_lock lock(mutex_);
  while (governor_ != nullptr) {
    const Instant moment = now();
    const bool wanted = contended(moment);
    settle_locked(account, moment, wanted, slept ? costs_.interrupt : Nanoseconds::zero(),
                  slept ? 1 : 0);
    if (suspended_) break;
    const governor::Decision decision = decide(account, moment, wanted);
    if (decision.verdict == governor::Verdict::serve) {
      account.open = true;
      account.reserved = decision.reserved;
      // CPU time is at most the time of day; whether it was less is seen when the grant ends.
      account.until = cycles() + cycles_in(decision.grant);
      grants_.opened(moment);
      break;
    }
    slept = true;
    // A small part orders long waits, and may have grown meanwhile. Who said that he wants nothing
    // says otherwise first, once.
    const bool tell = host_.idle && !std::exchange(told, true);
    Instant until = decision.until;
    if (host_.limit > 0) until = tell ? moment : std::min(until, host_.look_at);
    ++waiting_;
    sleep_locked(lock, until);
    if (tell || (host_.limit > 0 && now() >= host_.look_at)) {
      lock.unlock();
      look();
      lock.lock();
    }
    --waiting_;
  }
  return slept;
}

void Gate::sleep_locked(std::unique_lock<std::mutex>& lock, Instant until) {
  const std::uint64_t before = generation_;
  changed_.wait_until(lock, until, [&] { return generation_ != before; });
}

bool Gate::rest_governed(Account& account) {
  std::unique_lock lock(mutex_);
  if (governor_ == nullptr) return false;
  const Instant moment = now();
  settle_locked(account, moment, contended(moment), {}, 0);
  const Instant until = governor_->unmask_at(moment);
  if (until <= moment || suspended_) return false;
  ++counted_.masked_rests;
  sleep_locked(lock, until);
  if (governor_ == nullptr) return true;
  const Instant woken = now();
  settle_locked(account, woken, contended(woken), costs_.interrupt, 1);
  return true;
}

void Gate::settle(Account& account, Nanoseconds extra, std::uint32_t wakes) {
  const std::lock_guard lock(mutex_);
  if (governor_ == nullptr) return;
  const Instant moment = now();
  settle_locked(account, moment, contended(moment), extra, wakes);
}

void Gate::settle_locked(Account& account, Instant moment, bool contended, Nanoseconds extra,
                         std::uint32_t wakes) {
  const Nanoseconds clock = thread_time();
  if (account.open && account.epoch == epoch_) grants_.closed(moment);
  if (account.epoch != epoch_) {  // What was spent before there was a cap is nobody's debt.
    ThreadStats* const stats = account.stats;
    account = {};
    account.stats = stats;
    account.epoch = epoch_;
    account.charged = clock;
    if (by_tenant()) begin_bills(account, clock);
  }
  if (by_tenant()) {
    settle_budgets(account, moment, clock, contended, extra, wakes);
    return;
  }
  governor::Spent spent;
  spent.cpu = clock - account.charged + extra;
  spent.requests = account.requests;
  spent.wakes = wakes;
  spent.contended = contended;
  const Nanoseconds reserved = account.open ? account.reserved : Nanoseconds::zero();
  governor_->settle(moment, reserved, spent);
  if (waiting_ > 0 && reserved - spent.cpu > refund_worth_a_wake) {
    ++generation_;
    changed_.notify_all();
  }
  charged_ += spent.cpu;
  if (!contended && reserved == Nanoseconds::zero()) free_ += spent.cpu;
  account.charged = clock;
  account.requests = 0;
  account.open = false;
}

void Gate::charge_kernel_threads(std::uint32_t tenant, Nanoseconds at_most) {
  const std::lock_guard lock(mutex_);
  if (governor_ == nullptr) return;
  const Instant moment = now();
  governor_->charge(moment,
                    {.tenant = static_cast<governor::Tenant>(by_tenant() ? budget_of(tenant) : 0),
                     .cpu = at_most,
                     .contended = contended(moment)});
  charged_ += at_most;
  kernel_threads_ += at_most;
}

void Gate::sample(const SensorReading& reading) {
  const std::lock_guard lock(mutex_);
  if (governor_ == nullptr) return;
  const Instant moment = now();
  governor_->charge(moment, {.cpu = reading.cpu});
  charged_ += reading.cpu;
  sensors_cpu_ += reading.cpu;
  const auto elapsed = static_cast<double>((moment - sampled_at_).count()) * online_cores();
  if (elapsed <= 0) return;
  const double share = static_cast<double>((charged_ - sampled_).count()) / elapsed;
  sampled_ = charged_;
  sampled_at_ = moment;
  counted_.loss = filter_.update(reading.pressure, share, reading.canary);
  governor_->sample(moment,
                    {.pressure = reading.pressure, .canary_loss = counted_.loss, .share = share});
}

void Gate::tick(Nanoseconds cpu) {
  const std::lock_guard lock(mutex_);
  sensors_cpu_ += cpu;
  if (governor_ != nullptr) governor_->charge(now(), {});  // It looks.
}

Nanoseconds Gate::granted(Instant from, Instant to) const {
  const std::lock_guard lock(mutex_);
  return grants_.between(from, to);
}

void Gate::stop_sensors() {
  const std::lock_guard looking(looking_);
  sensors_.reset();
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
  GovernorStats stats = counted_;
  stats.sensor_seconds = std::chrono::duration<double>(sensors_cpu_).count();
  stats.kernel_thread_seconds = std::chrono::duration<double>(kernel_threads_).count();
  stats.free_seconds = std::chrono::duration<double>(free_).count();
  stats.host_limit = host_.limit;
  stats.host_part = host_.part;
  stats.host_holders = host_.holders;
  if (governor_ == nullptr) return stats;
  const governor::Report report = governor_->report(now());
  stats.cap = report.cap;
  stats.throttled_seconds = std::chrono::duration<double>(report.throttled).count();
  stats.waits = report.waits;
  stats.forced = report.forced;
  for (const governor::Conflict& conflict : report.conflicts) {
    stats.conflicts.push_back(conflict.message);
  }
  if (!by_tenant()) return stats;
  for (std::size_t budget = 0; budget < tenants_.size(); ++budget) {
    const governor::TenantReport& tenant = report.tenants[budget];
    stats.budgets.push_back({tenants_[budget], tenant.part,
                             std::chrono::duration<double>(tenant.throttled).count(),
                             tenant.waits});
  }
  return stats;
}

}  // namespace k2k::server
