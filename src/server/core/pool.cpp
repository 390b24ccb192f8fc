// The thread pool: what an idle thread picks, and the watch over the roles.

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "server/core/core.hpp"

namespace k2k::server {

namespace {
// Ticks without a call before the watcher lies down; the next call wakes it.
constexpr int watch_ticks_idle_max = 20;
// Under a cap each look is paid for with requests, and who waits for milliseconds anyway can wait
// for a take-over, too (Admission::watch_tick). At 1 % of two cores, ticks of takeover_us took 6 %
// of the requests.
constexpr int watch_ticks_idle_max_governed = 1;
// While calls are short the watcher looks more and more rarely, down to every eighth takeover_us:
// where all cores are busy each look interrupts a leader or the device (measured on two cores: 7 %
// of the throughput of cached reads). After a take-over it stays alert for as many ticks.
constexpr std::uint32_t watch_stretch_max = 8;
constexpr int watch_ticks_alert = 400;
}  // namespace

bool Server::Core::add_thread(ThreadMain main, const char* name, std::uint32_t number) {
  return threads_.add([this, main](ServiceThread& self) { (this->*main)(self); }, name, number);
}

bool Server::Core::add_worker() {
  if (!add_thread(&Core::work, "k2k/serve%u", workers_)) return false;
  ++workers_;
  ++idle_;
  return true;
}

void Server::Core::work(ServiceThread& self) {
  while (true) {
    Work work = next_work(self);
    switch (work.task) {
      case Task::role:
        // A role of the units comes back: a thread that takes it over only rescues (rescue()).
        while (!lead(self, *work.role) && work.role->on_units.load()) {
        }
        break;
      case Task::rescue:
        rescue(self, *work.role);
        break;
      case Task::attempt:
        run_attempts(self);
        break;
      case Task::bundle:
        run_bundle(self, work.bundle);
        break;
      case Task::call:
        run_call(self, work.call);
        break;
      case Task::end:
        return;
    }
    admission_.leave(self.account);
    self.settle(cycles());
    const std::lock_guard lock(mutex_);
    ++idle_;
  }
}

Server::Core::Work Server::Core::next_work(ServiceThread& self) {
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
  // One thread stays idle, so that a role can change hands.
  if (idle_ == 0 && workers_ < config_.threads_max && work.task != Task::end) {
    static_cast<void>(add_worker());  // Without another one, calls queue; nothing is lost.
  }
  if (idle_ == 0 && work.task != Task::end) call_guard();
  return work;
}

bool Server::Core::pick(ServiceThread& self, Work& work) {
  if (!vacant_roles_.empty() && roles_wanted_.load(std::memory_order_relaxed) != 0) {
    work.task = Task::role;
    work.role = vacant_roles_.front();
    vacant_roles_.erase(vacant_roles_.begin());
    ++held_roles_;
    // A role of the units may be in use; stand_by() waits for it, without this lock.
    const bool shared = work.role->on_units.load(std::memory_order_relaxed);
    K2K_EXPECT(shared || work.role->word.take(self.index));
    return true;
  }
  if (!attempts_.empty()) {  // Their thread is in a call.
    work.task = Task::attempt;
    return true;
  }
  if (!bundles_.empty()) {
    work.task = Task::bundle;
    work.bundle = std::move(bundles_.front());
    bundles_.pop_front();
    ++processing_;  // With it: to pause_roles() a bundle is always in one place or the other.
    return true;
  }
  const bool others_stay = idle_ > 1 || workers_ < config_.threads_max;
  if (!calls_.empty() && (others_stay || stopping_)) {
    work.task = Task::call;
    work.call = calls_.pop_front();
    return true;
  }
  work.task = Task::end;
  return stopping_;
}

void Server::Core::watch(ServiceThread& self, Work& work, std::unique_lock<std::mutex>& lock) {
  const auto begun = [this] {
    std::uint64_t sum = attempts_begun_.load();
    for (const auto& role : roles_) sum += role->calls_begun.load();
    return sum;
  };
  watched_ = true;
  std::uint64_t last_begun = begun();
  std::uint64_t last_calls = threads_.calls_of_roles();
  int quiet_ticks = 0;
  std::uint32_t stretch = 1;
  while (!pick(self, work)) {
    admission_.leave(self.account);
    self.settle(cycles());
    const bool governed = admission_.governed();
    if (quiet_ticks < (governed ? watch_ticks_idle_max_governed : watch_ticks_idle_max)) {
      const Nanoseconds tick = std::chrono::microseconds(config_.takeover_us) * stretch;
      work_there_.wait_for(lock, governed ? admission_.watch_tick() : tick);
    } else {
      // Pairs with wake_watcher(): both sides store, then load, sequentially consistent.
      watcher_asleep_.store(true);
      if (begun() == last_begun) work_there_.wait(lock);
      watcher_asleep_.store(false);
      quiet_ticks = 0;
    }
    if (take_over_stuck(self, work)) {
      alert_ticks_ = watch_ticks_alert;
      break;
    }
    const std::uint64_t now_begun = begun();
    quiet_ticks = now_begun == last_begun ? quiet_ticks + 1 : 0;
    last_begun = now_begun;
    // At least two calls a takeover_us: each took less than half of it. Split bundles are tried
    // outside the roles, and their queue waits for the next tick.
    const std::uint64_t now_calls = threads_.calls_of_roles();
    const bool all_short = config_.bottom_half != BottomHalfMode::split &&
                           now_calls - last_calls >= std::uint64_t{2} * stretch;
    last_calls = now_calls;
    if (alert_ticks_ > 0) --alert_ticks_;
    stretch = all_short && alert_ticks_ == 0 ? std::min(stretch * 2, watch_stretch_max) : 1;
  }
  watched_ = false;
  if (idle_ > 1) work_there_.notify_one();  // The next watcher.
}

bool Server::Core::take_over_stuck(ServiceThread& self, Work& work) {
  if (stopping_) return false;  // stop() takes the roles itself, for a holder that is no thread.
  for (const auto& role : roles_) {
    const RoleWord::View view = role->word.view();
    if (view.phase == RolePhase::vacant) continue;
    const telemetry::Mark& mark = threads_.call_of(view.holder);
    const std::pair seen{view.holder, mark.view()};
    const auto before = std::exchange(role->watched, seen);
    if (seen != before || !role->word.take_over(view.holder, mark, seen.second, self.index)) {
      continue;
    }
    self.stats.takeovers.add();
    work.task = Task::role;
    work.role = role.get();
    if (role->on_units.load(
            std::memory_order_relaxed)) {  // The thread that stands by for it stays.
      work.task = Task::rescue;
      ++held_roles_;
    }
    return true;
  }
  return false;
}

void Server::Core::wake_watcher() {
  if (!watcher_asleep_.load()) return;
  const std::lock_guard lock(mutex_);
  work_there_.notify_all();
}

bool Server::Core::may_leave_role() const {
  return idle_ > 1 || (idle_ == 1 && workers_ < config_.threads_max);
}

}  // namespace k2k::server
