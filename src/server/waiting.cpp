// Calls that would wait: on a descriptor, all together on one thread; on anything else, one each.

#include <unistd.h>

#include "base/clock.hpp"
#include "server/core.hpp"

namespace k2k::server {

void Server::Core::set_aside(const Pending& call) {
  if (call.readiness.descriptor >= 0 && !stopping_) {
    if (!descriptors_watched_) {
      // Without that thread each call waits on its own.
      descriptors_watched_ = add_thread(&Core::watch_descriptors, "k2k/wait").ok();
    }
    if (descriptors_watched_) {
      new_waits_.push_back(call);
      wake_descriptor_watch();
      return;
    }
  }
  calls_.push_back(call);
  work_there_.notify_one();
}

void Server::Core::wake_descriptor_watch() {
  const std::uint64_t one = 1;
  // Full means that it is readable already.
  if (waits_changed_ >= 0) static_cast<void>(::write(waits_changed_, &one, sizeof(one)));
}

void Server::Core::watch_descriptors(ServiceThread& self) {
  DescriptorWaits waits;
  DescriptorWaits::Round round;
  Nanoseconds mark = thread_time();
  bool stopping = false;
  while (!stopping) {
    {
      const std::lock_guard lock(mutex_);
      for (const Pending& call : new_waits_) waits.add(call, now());
      new_waits_.clear();
      for (const Pending& call : round.stubborn) {
        calls_.push_back(call);
        work_there_.notify_one();
      }
      stopping = stopping_;
    }
    round.stubborn.clear();
    if (stopping) {
      waits.end(DescriptorWaits::Whose::everybody, round.answered);
    } else if (backend_->abandoned()) {
      waits.end(DescriptorWaits::Whose::not_detached, round.answered);
    }
    if (round.answered.empty() && !stopping) waits.wait(waits_changed_, round);
    const std::uint64_t done = cycles();
    for (const DescriptorWaits::Answered& answered : round.answered) {
      answer_late(self, answered.call.request, answered.value, {answered.call.begun, done});
    }
    // All that this thread does is in the service of those that it answered.
    const Nanoseconds moment = thread_time();
    const std::uint64_t spent = cycles_in(moment - mark);
    if (round.answered.empty()) self.stats.ledger.charge(telemetry::Stage::polling, spent);
    for (const DescriptorWaits::Answered& answered : round.answered) {
      charge(self, telemetry::Stage::service, spent / round.answered.size(), answered.call.request);
    }
    round.answered.clear();
    gate_.leave(self.account);
    settle(self, cycles());
    mark = moment;
  }
}

}  // namespace k2k::server
