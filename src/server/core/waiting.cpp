// Calls that would wait: on a descriptor, all together on one thread; on anything else, one each.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/clock.hpp"
#include "server/core/core.hpp"

namespace k2k::server {

void Server::Core::set_aside(const Pending& call) {
  if (!watch_descriptor_of(call)) pool_.queue(call);
}

bool Server::Core::watch_descriptor_of(const Pending& call) {
  if (call.readiness.descriptor < 0) return false;
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  if (!descriptors_watched_) {
    // Without that thread each call waits on its own.
    descriptors_watched_ =
        threads_.add([this](ServiceThread& self) { watch_descriptors(self); }, "k2k/wait");
  }
  if (!descriptors_watched_ || !wake_descriptor_watch()) return false;
  new_waits_.push_back(call);  // Under the lock that the woken thread needs first.
  return true;
}

bool Server::Core::wake_descriptor_watch() {
  const std::uint64_t one = 1;
  // Full means that it is readable already.
  return ::write(waits_changed_.number(), &one, sizeof(one)) == sizeof(one) || errno == EAGAIN;
}

void Server::Core::take_new_waits(ServiceThread& self, DescriptorWaits& waits,
                                  DescriptorWaits::Round& round) {
  while (true) {
    Pending call;
    {
      const std::lock_guard lock(mutex_);
      if (new_waits_.empty()) return;
      call = new_waits_.pop_front();
    }
    try {
      round.reserve(waits.size() + 1);  // Whatever ends them finds room.
      waits.add(call, now());
    } catch (const std::bad_alloc&) {
      answers_.answer_late(self.stats, call.request, -ENOMEM, {call.begun, cycles()});
    }
  }
}

void Server::Core::watch_descriptors(ServiceThread& self) {
  DescriptorWaits waits(*files_);
  DescriptorWaits::Round round;
  Nanoseconds mark = thread_time();
  bool stopping = false;
  // At the end the signal wakes it, too: the program may have closed what else does.
  system_calls_.sleeping().begin(self.sleeper, SleepingCalls::Owner::detached);
  while (!stopping) {
    take_new_waits(self, waits, round);
    {
      const std::lock_guard lock(mutex_);
      stopping = stopping_;
    }
    for (const Pending& call : round.stubborn) pool_.queue(call);
    round.stubborn.clear();
    if (stopping) {
      waits.end(DescriptorWaits::Whose::everybody, round.answered);
    } else if (backend_->abandoned()) {
      waits.end(DescriptorWaits::Whose::not_detached, round.answered);
    }
    if (round.answered.empty() && !stopping) waits.wait(waits_changed_.number(), round);
    const std::uint64_t done = cycles();
    for (const DescriptorWaits::Answered& answered : round.answered) {
      answers_.answer_late(self.stats, answered.call.request, answered.value,
                           {answered.call.begun, done});
    }
    // All that this thread does is in the service of those that it answered.
    const Nanoseconds moment = thread_time();
    const std::uint64_t spent = cycles_in(moment - mark);
    if (round.answered.empty()) self.stats.ledger.charge(telemetry::Stage::polling, spent);
    for (const DescriptorWaits::Answered& answered : round.answered) {
      self.charge(telemetry::Stage::service, spent / round.answered.size(), answered.call.request);
    }
    round.answered.clear();
    admission_.leave(self.account);
    self.settle(cycles());
    mark = moment;
  }
}

}  // namespace k2k::server
