#include "server/pool/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/asymmetric_barrier.hpp"
#include "base/clock.hpp"

namespace k2k::server {

namespace {
constexpr auto guard_tick_min = std::chrono::milliseconds(1);
}  // namespace

bool ThreadPool::add_workers(int count) {
  // Under one lock, because the first worker takes a role at once and would otherwise add the
  // second one itself.
  const std::lock_guard lock(mutex_);
  bool added = true;
  while (added && count-- > 0) added = add_worker_locked();
  return added;
}

bool ThreadPool::add_worker_locked() {
  if (!parts_.threads.add(mains_.work, "k2k/serve%u", workers_)) return false;
  ++workers_;
  ++idle_;
  return true;
}

// --- The work of idle threads.

ThreadPool::Work ThreadPool::next_work(ServiceThread& self) {
  std::unique_lock lock(mutex_);
  Work work;
  while (true) {
    if (pick(self, work)) break;
    if (!watched_) {
      watch(self, work, lock);
      break;
    }
    work_there_.wait(lock);
  }
  --idle_;
  if (idle_ != 0 || work.task == Task::end) return work;
  // Without another thread calls wait in the queue; no call is lost.
  if (workers_ < workers_max_) static_cast<void>(add_worker_locked());
  if (idle_ == 0) {
    if (!guard_started_) guard_started_ = parts_.threads.add(mains_.guard, "k2k/guard");
    guard_wanted_.notify_one();
  }
  return work;
}

void ThreadPool::finish_work() {
  const std::lock_guard lock(mutex_);
  ++idle_;
}

bool ThreadPool::pick(ServiceThread& self, Work& work) {
  work.role = parts_.roles.take_vacant(self.index);
  if (work.role != nullptr) {
    work.task = Task::role;
    return true;
  }
  switch (parts_.split.take(work.bundle)) {
    case SplitQueue::Next::attempt:
      work.task = Task::attempt;
      return true;
    case SplitQueue::Next::bundle:
      work.task = Task::bundle;
      return true;
    case SplitQueue::Next::stage:
      work.task = Task::stage;
      return true;
    case SplitQueue::Next::nothing:
      break;
  }
  const bool others_stay = idle_ > 1 || workers_ < workers_max_;
  if (!calls_.empty() && (others_stay || stopping_)) {
    work.task = Task::call;
    work.call = calls_.pop_front();
    return true;
  }
  work.task = Task::end;
  return stopping_;
}

void ThreadPool::queue(const Pending& call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(call);
  work_there_.notify_one();
}

bool ThreadPool::queue_or_follow(ServiceThread& self, Role& role, std::vector<Pending>& calls,
                                 bool may_go, Pending& first) {
  const std::lock_guard lock(mutex_);
  const std::size_t before = calls_.size();
  for (const Pending& call : calls) {
    calls_.push_back(call);
    work_there_.notify_one();
  }
  calls.clear();
  if (calls_.size() == before || !may_go || !may_follow()) return false;
  first = calls_.pop_back();
  parts_.roles.pass_on(role, self.index);
  role_left_.notify_all();
  work_there_.notify_one();
  return true;
}

bool ThreadPool::may_follow() const { return idle_ > 1 || (idle_ == 1 && workers_ < workers_max_); }

void ThreadPool::wake_one() {
  const std::lock_guard lock(mutex_);
  work_there_.notify_one();
}

// --- The watch over the roles.

WatchTicks::Seen ThreadPool::seen() const {
  return {parts_.split.attempts_begun.load() + parts_.roles.calls_begun(),
          parts_.threads.calls_of_roles()};
}

void ThreadPool::watch(ServiceThread& self, Work& work, std::unique_lock<std::mutex>& lock) {
  watched_ = true;
  ticks_.begin(seen());
  while (!pick(self, work)) {
    parts_.admission.leave(self.account);
    self.settle(cycles());
    const bool governed = parts_.admission.governed();
    // The thread for which attempts wait may be stuck in its next call.
    if (ticks_.looks(governed) || parts_.split.attempts_wait()) {
      work_there_.wait_for(lock,
                           governed ? parts_.admission.watch_tick() : takeover_ * ticks_.stretch());
    } else {
      watcher_asleep_.exchange(1);
      heavy_barrier();  // Pairs with begins_calls().
      if (ticks_.silent(seen().announced)) work_there_.wait(lock);
      watcher_asleep_.store(0);
      ticks_.woken();
    }
    if (Role* const role = take_over_stuck(self)) {
      work.role = role;
      work.task = role->on_units.load(std::memory_order_relaxed) ? Task::rescue : Task::role;
      ticks_.took_over();
      break;
    }
    ticks_.looked(seen(), split_mode_);
  }
  watched_ = false;
  if (idle_ > 1) work_there_.notify_one();  // The next watcher.
}

Role* ThreadPool::take_over_stuck(ServiceThread& self) {
  if (stopping_)
    return nullptr;  // abandon_roles() takes the roles; their holder is then no thread.
  Role* const role = parts_.roles.take_over_stuck(parts_.threads, self.index);
  if (role != nullptr) self.stats.takeovers.add();
  return role;
}

void ThreadPool::wake_watcher() {
  const std::lock_guard lock(mutex_);
  work_there_.notify_all();
}

// --- Hand-off of roles.

void ThreadPool::leave(ServiceThread& self, Role& role) {
  const std::lock_guard lock(mutex_);
  parts_.roles.leave(role, self.index);
  role_left_.notify_all();
}

void ThreadPool::end_rescue(ServiceThread& self, Role& role, bool holds) {
  const std::lock_guard lock(mutex_);
  if (holds) {
    parts_.roles.leave(role, self.index);
  } else {
    parts_.roles.lose();
  }
  role_left_.notify_all();
}

void ThreadPool::stand_by(const Role& role, Nanoseconds longest) {
  std::unique_lock lock(mutex_);
  if (parts_.roles.wanted(role)) stand_by_over_.wait_for(lock, longest);
}

ThreadPool::GuardWork ThreadPool::next_for_guard(ServiceThread& self) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (idle_ != 0) {
      guard_wanted_.wait(lock);
      continue;
    }
    guard_wanted_.wait_for(lock, std::max<Nanoseconds>(takeover_, guard_tick_min));
    if (stopping_ || idle_ != 0) continue;
    Role* role = parts_.roles.take_vacant(self.index);
    if (role == nullptr) role = take_over_stuck(self);
    if (role != nullptr) return {GuardTask::role, role};
    if (parts_.split.bundles_wait_for_pool() || parts_.split.attempts_wait()) {
      return {GuardTask::split, nullptr};
    }
  }
  return {};
}

bool ThreadPool::relieve_guard(ServiceThread& self, Role& role) {
  const std::lock_guard lock(mutex_);
  if (role.on_units.load(std::memory_order_relaxed)) {
    parts_.roles.leave(role, self.index);  // The thread that stands by for it keeps standing by.
  } else {
    if (idle_ == 0 && parts_.roles.wanted(role)) return false;
    parts_.roles.pass_on(role, self.index);
    work_there_.notify_one();
  }
  role_left_.notify_all();
  return true;
}

// --- Pause and end.

void ThreadPool::pause() {
  std::unique_lock lock(mutex_);
  parts_.roles.pause();
  parts_.split.close();
  stand_by_over_.notify_all();
  // Waits for split bundles, too: a monolithic bottom half must be the only one.
  while (parts_.roles.held() != 0 || !parts_.split.quiet()) {
    parts_.backend.wake_server();
    role_left_.wait_for(lock, std::chrono::milliseconds(1));
  }
}

void ThreadPool::resume(const ServerConfig& config) {
  const std::lock_guard lock(mutex_);
  workers_max_ = config.threads_max;
  takeover_ = std::chrono::microseconds(config.takeover_us);
  split_mode_ = hands_bundles_out(config.bottom_half);
  parts_.split.open(config);
  parts_.roles.resume(config.top_halves);
  work_there_.notify_all();
}

void ThreadPool::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  parts_.roles.pause();
  parts_.split.close();
  stand_by_over_.notify_all();
  work_there_.notify_all();
  guard_wanted_.notify_all();
}

void ThreadPool::abandon_roles() {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  for (std::size_t index = 0; index < parts_.roles.count(); ++index) {
    while (!Roles::abandon(parts_.roles.at(index), parts_.threads)) {
      parts_.backend.wake_server();
      role_left_.wait_for(lock, 1ms);
    }
  }
  while (parts_.split.accepting()) role_left_.wait_for(lock, 1ms);
}

}  // namespace k2k::server
