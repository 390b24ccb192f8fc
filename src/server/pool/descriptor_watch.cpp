#include "server/pool/descriptor_watch.hpp"

#include <unistd.h>

#include <cerrno>
#include <new>

#include "base/clock.hpp"

namespace k2k::server {

bool DescriptorWatch::take(const Pending& call) {
  if (!call.readiness.exists() || call.readiness.futex) return false;
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  if (!started_) {
    started_ = parts_.threads.add([this](ServiceThread& self) { run(self); }, "k2k/wait");
  }
  if (!started_ || !wake()) return false;
  new_waits_.push_back(call);  // Under the lock that the woken thread needs first.
  return true;
}

bool DescriptorWatch::wake() {
  const std::uint64_t one = 1;
  // EAGAIN: the counter is full, so the descriptor is already readable.
  return ::write(event_.number(), &one, sizeof(one)) == sizeof(one) || errno == EAGAIN;
}

void DescriptorWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  static_cast<void>(wake());
}

bool DescriptorWatch::take_new(ServiceThread& self, DescriptorWaits& waits,
                               DescriptorWaits::Round& round) {
  while (true) {
    Pending call;
    {
      const std::lock_guard lock(mutex_);
      if (new_waits_.empty()) return stopping_;
      call = new_waits_.pop_front();
    }
    add(self, waits, round, call);
  }
}

void DescriptorWatch::add(ServiceThread& self, DescriptorWaits& waits,
                          DescriptorWaits::Round& round, const Pending& call) {
  try {
    // Reserves room for the end of every wait.
    round.reserve(round.answered.size() + round.for_pool.size() + waits.size() + 1);
    const auto held = [&] { return round.answered.size() + round.for_pool.size() + waits.size(); };
    const std::size_t before = held();
    waits.add(call, now(), round);
    if (held() == before) parts_.places.note_dropped();
  } catch (const std::bad_alloc&) {
    parts_.answers.answer_late(self.stats, call.request, -ENOMEM, {call.begun, cycles()});
  }
}

void DescriptorWatch::answer(ServiceThread& self, const DescriptorWaits::Round& round) {
  const std::uint64_t done = cycles();
  for (const DescriptorWaits::Answered& answered : round.answered) {
    parts_.answers.answer_late(self.stats, answered.call.request, answered.value,
                               {answered.call.begun, done});
  }
}

void DescriptorWatch::run(ServiceThread& self) {
  DescriptorWaits waits(parts_.files);
  DescriptorWaits::Round round;
  Nanoseconds mark = thread_time();
  bool stopping = false;
  // At the end the signal wakes the thread, too, because the program may have closed the event
  // descriptor.
  parts_.sleeping.begin(self.sleeper, SleepingCalls::Owner::detached);
  while (!stopping) {
    stopping = take_new(self, waits, round);
    if (stopping) {
      waits.end(DescriptorWaits::Whose::everybody, round.answered);
    } else if (parts_.backend.abandoned()) {
      waits.end(DescriptorWaits::Whose::not_detached, round.answered);
    }
    if (round.answered.empty() && round.for_pool.empty() && !stopping) {
      waits.wait(event_.number(), round);
    }
    for (const Pending& call : round.for_pool) parts_.pool.queue(call);
    round.for_pool.clear();
    answer(self, round);
    // Charges the thread's CPU time to the calls that it answered.
    const Nanoseconds moment = thread_time();
    const std::uint64_t spent = cycles_in(moment - mark);
    if (round.answered.empty()) self.stats.ledger.charge(telemetry::Stage::polling, spent);
    for (const DescriptorWaits::Answered& answered : round.answered) {
      self.charge(telemetry::Stage::service, spent / round.answered.size(), answered.call.request);
    }
    round.answered.clear();
    parts_.admission.leave(self.account);
    self.settle(cycles());
    mark = moment;
  }
}

}  // namespace k2k::server
