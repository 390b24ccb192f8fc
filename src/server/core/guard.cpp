// The last resort: when each thread of the pool is kept by a call, somebody still answers what
// needs no thread: page faults whose pages are at hand, and calls that never block.
//
//   pool: last idle thread takes a role ─▶ its call is stuck, nobody watches ─▶ guard takes the
//   role a thread comes back, idle ◀── guard gives the role up
//
// The guard executes no call that may block, so nothing keeps it. Calls that it accepts are queued
// for the pool. One thread, `k2k/guard`, beside the pool; it is started when the pool is first used
// up and sleeps while one of the pool is idle.

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"
#include "server/core/core.hpp"

namespace k2k::server {

namespace {
constexpr auto tick_min = std::chrono::milliseconds(1);
constexpr auto rest_max = std::chrono::milliseconds(1);
}  // namespace

void Server::Core::call_guard() {
  if (!guard_started_) guard_started_ = add_thread(&Core::guard, "k2k/guard");
  guard_wanted_.notify_one();
}

void Server::Core::guard(ServiceThread& self) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (idle_ != 0) {
      guard_wanted_.wait(lock);
      continue;
    }
    guard_wanted_.wait_for(
        lock, std::max<Nanoseconds>(std::chrono::microseconds(config_.takeover_us), tick_min));
    if (stopping_ || idle_ != 0) continue;
    Work work;
    const bool vacant = !vacant_roles_.empty() && roles_wanted_.load() != 0;
    if (!vacant && !take_over_stuck(self, work)) continue;
    if (vacant) pick(self, work);
    lock.unlock();
    take_from_units(self, *work.role);
    lead_as_guard(self, *work.role);
    admission_.leave(self.account);
    self.settle(cycles());
    lock.lock();
  }
}

// Expects mutex_ held.
bool Server::Core::relieves_guard(const ServiceThread& self, Role& role) {
  const bool wanted = roles_wanted_.load(std::memory_order_relaxed) > role.index;
  if (role.on_units.load(std::memory_order_relaxed)) {
    role.word.vacate(self.index);
    --held_roles_;
    role_left_.notify_all();
    return true;
  }
  if (idle_ == 0 && wanted && !stopping_) return false;
  role.word.vacate(self.index);
  --held_roles_;
  if (wanted && !stopping_) vacant_roles_.push_back(&role);
  role_left_.notify_all();
  work_there_.notify_one();
  return true;
}

void Server::Core::lead_as_guard(ServiceThread& self, Role& role) {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      // A predecessor whose call lasted too long left its accepted requests behind.
      for (; role.batch_next < role.batch.size(); ++role.batch_next) {
        calls_.push_back(role.batch[role.batch_next]);
      }
      for (const Pending& call : role.waiting) set_aside(call);
      role.waiting.clear();
      if (relieves_guard(self, role)) return;
    }
    admission_.pass(self.account, 0);
    role.bundle.clear();
    if (!role.top_half.collect(role.bundle, self.stats)) {
      if (cycles() < role.top_half.rescan_due() || bundles_wait() ||
          role.top_half.rescan(role.bundle, self.stats) == 0) {
        rest(self, role, Notify::interrupt,
             static_cast<std::uint32_t>(rest_max / Nanoseconds(1'000)));
        continue;
      }
    }
    role.batch.clear();
    role.batch_next = 0;
    self.answered.clear();
    bottom_half_.process(role.bundle, {role.openness, role.trace, true}, role.batch, self.answered,
                         self.stats);
    if (!self.answered.empty()) backend_->resume(self.answered.data(), self.answered.size());
    self.settle(cycles());
    if (take_faults(self, role.batch) && !serve_faults(self, &role)) return;
  }
}

}  // namespace k2k::server
