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
constexpr auto rest_max = std::chrono::milliseconds(1);
}  // namespace

void Server::Core::guard(ServiceThread& self) {
  while (Role* const role = pool_.next_for_guard(self)) {
    take_from_units(self, *role);
    lead_as_guard(self, *role);
    admission_.leave(self.account);
    self.settle(cycles());
  }
}

void Server::Core::lead_as_guard(ServiceThread& self, Role& role) {
  while (true) {
    // A predecessor whose call lasted too long left its accepted requests behind.
    for (; role.batch_next < role.batch.size(); ++role.batch_next) {
      pool_.queue(role.batch[role.batch_next]);
    }
    for (const Pending& call : role.waiting) set_aside(call);
    role.waiting.clear();
    if (pool_.relieve_guard(self, role)) return;
    admission_.pass(self.account, 0);
    role.bundle.clear();
    if (!role.top_half.collect(role.bundle, self.stats)) {
      if (cycles() < role.top_half.rescan_due() || split_.bundles_wait() ||
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
    if (FaultDesk::take(self, role.batch) && !faults_.serve(self, &role)) return;
  }
}

}  // namespace k2k::server
