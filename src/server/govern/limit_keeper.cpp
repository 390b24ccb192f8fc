#include "server/govern/limit_keeper.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.hpp"

namespace k2k::server {

namespace {

// A part of the host's limit changes with each refresh. Waiting threads are woken only for a rise
// of at least this factor, because a small part orders long waits.
constexpr double rise_worth_a_wake = 1.25;

// The time until the next try after a refresh that failed for lack of memory.
constexpr Nanoseconds refresh_without_memory = std::chrono::milliseconds(100);

// The least time between two samples of the machine's interrupts, which some Linux count in ticks.
constexpr Nanoseconds interrupts_period = std::chrono::milliseconds(500);

}  // namespace

LimitKeeper::LimitKeeper(Grants& grants, WaitingThreads& waiting, std::string proc, Cores cores)
    : grants_(grants),
      waiting_(waiting),
      proc_(std::move(proc)),
      cores_(std::move(cores)),
      share_(host::override_path(), cores_()) {}

Status LimitKeeper::configure(const ServerConfig& config) {
  const std::lock_guard refreshing(refreshing_);
  ServerConfig before = std::exchange(config_, config);
  if (Status status = apply(cores_()); !status) {
    config_ = std::move(before);
    return status;
  }
  if (thread_.started()) return {};
  if (Status status = refresh(); !status) return status;
  return thread_.start([this] { return run(); });
}

void LimitKeeper::stop() {
  thread_.stop();
  const std::lock_guard refreshing(refreshing_);
  sensors_.reset();
}

HostLimit LimitKeeper::host_limit() const {
  const std::lock_guard lock(host_mutex_);
  return host_;
}

Instant LimitKeeper::wake_by(Instant now) {
  if (!limited_.load(std::memory_order_relaxed)) return Instant::max();
  if (silent_.load(std::memory_order_relaxed) && silent_.exchange(false)) thread_.wake();
  return thread_.wake_by(now);
}

KeeperThread::Next LimitKeeper::run() {
  const std::lock_guard refreshing(refreshing_);
  try {
    // The start has reported an invalid host limit; `k2k doctor` does, too.
    static_cast<void>(refresh());
  } catch (const std::bad_alloc&) {
    // The last known limit stays in force.
    return {now() + refresh_without_memory, false};
  }
  const Nanoseconds cpu = thread_time();
  grants_.charge_keeper(cpu - std::exchange(keeper_cpu_, cpu));
  return {share_.due(), host_.limit > 0 && waiting_.count() > 0};
}

Status LimitKeeper::refresh() {
  host::Share::Own own;
  const Grants::Usage usage = grants_.usage();
  own.cap = own_cap(config_);
  own.used = usage.charged;
  own.waits = usage.waits;
  own.waits_now = waiting_.count() > 0;
  own.cores = cores_();
  Status status = share_.refresh(now(), own);
  thread_.plan(share_.due());
  {
    const std::lock_guard lock(host_mutex_);
    host_ = {share_.limit().value_or(0), share_.part(),
             static_cast<std::uint32_t>(share_.holders())};
  }
  limited_.store(host_.limit > 0, std::memory_order_relaxed);
  silent_.store(share_.idle());
  if (Status applied = apply(own.cores); !applied) return applied;
  watch_interrupts(now(), usage.interrupts);
  return status;
}

void LimitKeeper::watch_interrupts(Instant moment, std::uint64_t own) {
  if (published_.read().cap == 0 || moment < interrupts_due_) return;
  interrupts_due_ = moment + interrupts_period;
  if (!std::exchange(interrupts_opened_, true)) {
    Result<host::InterruptTime> opened = host::InterruptTime::open(proc_);
    if (opened) interrupts_.emplace(std::move(opened).value());
  }
  if (!interrupts_) return;
  const std::optional<host::InterruptCounts> counts = interrupts_->read();
  if (!counts) return;
  interrupt_cost_.sample(moment, *counts, own);
  grants_.set_interrupts({.each = interrupt_cost_.each(),
                          .part_of_gap = interrupt_cost_.part_of_gap(),
                          .account = counts->measured() ? "measured" : "sampled"});
}

Status LimitKeeper::apply(std::uint32_t cores) {
  const EffectiveLimits wanted = effective_limits(config_, host_, cores);
  if (wanted == in_force_) return {};
  EffectiveLimits capped = in_force_;
  capped.cap = wanted.cap;
  return wanted == capped ? adjust_cap(wanted) : replace_rule(wanted);
}

// Savings and debts stay.
Status LimitKeeper::adjust_cap(const EffectiveLimits& wanted) {
  if (Status status = grants_.set_cap(wanted.cap); !status) return status;
  in_force_ = wanted;
  published_.publish(wanted.cap, epoch_);
  if (sensors_ != nullptr) sensors_->set_cap(wanted.cap);
  if (wanted.cap <= told_cap_ * rise_worth_a_wake && host_.limit > 0) {
    told_cap_ = std::min(told_cap_, wanted.cap);
    return {};
  }
  told_cap_ = wanted.cap;
  waiting_.wake_all();
  return {};
}

Status LimitKeeper::replace_rule(const EffectiveLimits& wanted) {
  auto result = prepare(wanted, config_, host_, now(), grants_, waiting_, proc_);
  if (!result) return result.error();
  PreparedRule prepared = std::move(result).value();
  EffectiveLimits in_force = wanted;
  // No step below allocates memory, so either all settings change or none.
  sensors_ = std::move(prepared.sensors);  // Ends the former thread, which may use the former rule.
  epoch_ = grants_.replace(prepared.rule);
  published_.publish(wanted.cap, epoch_);
  in_force_ = std::move(in_force);
  told_cap_ = wanted.cap;
  waiting_.wake_all();
  return {};
}

}  // namespace k2k::server
