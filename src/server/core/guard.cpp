#include "server/core/guard.hpp"

#include <chrono>

#include "base/clock.hpp"

namespace k2k::server {

namespace {
constexpr auto rest_max = std::chrono::milliseconds(1);
}  // namespace

void Guard::run(ServiceThread& self) {
  while (true) {
    const auto [task, role] = parts_.pool.next_for_guard(self);
    if (task == ThreadPool::GuardTask::end) return;
    if (task == ThreadPool::GuardTask::role) {
      Leader::take_from_units(self, *role);
      lead(self, *role);
    } else {
      parts_.split_service.accept_without_workers(self);
    }
    parts_.admission.leave(self.account);
    self.settle(cycles());
  }
}

void Guard::queue_rest(Role& role) {
  for (; role.batch_next < role.batch.size(); ++role.batch_next) {
    parts_.pool.queue(role.batch[role.batch_next]);
  }
  for (const Pending& call : role.waiting) parts_.waiting.set_aside(call);
  role.waiting.clear();
}

void Guard::lead(ServiceThread& self, Role& role) {
  while (true) {
    queue_rest(role);
    if (parts_.pool.relieve_guard(self, role)) return;
    parts_.admission.pass(self.account, 0);
    role.bundle.clear();
    if (!role.top_half.collect(role.bundle, self.stats)) {
      const std::uint64_t moment = cycles();
      if (moment < role.top_half.rescan_due() || parts_.split_queue.bundles_wait() ||
          role.top_half.rescan(role.bundle, self.stats, moment) == 0) {
        parts_.leader.rest(self, role, Notify::interrupt,
                           static_cast<std::uint32_t>(rest_max / Nanoseconds(1'000)));
        continue;
      }
    }
    role.batch.clear();
    role.batch_next = 0;
    self.answered.clear();
    parts_.bottom_half.process(role.bundle, {role.openness, role.trace, true}, role.batch,
                               self.answered, self.stats);
    if (!self.answered.empty()) parts_.backend.resume(self.answered.data(), self.answered.size());
    self.settle(cycles());
    if (FaultDesk::take(self, role.batch) && !parts_.faults.serve(self, &role)) return;
  }
}

}  // namespace k2k::server
