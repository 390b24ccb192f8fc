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
    started_ =
        event_.open() && parts_.threads.add([this](ServiceThread& self) { run(self); }, "k2k/wait");
  }
  if (!started_) return false;
  if (join(call)) return true;
  if (blocked_ != nullptr && !call_thread()) return false;
  new_waits_.push_back(call);  // An awake thread looks at them before it blocks.
  return true;
}

template <class Add>
bool DescriptorWatch::add_by(Waiting& waiting, const Add& add) {
  const std::size_t before = waiting.calls();
  try {
    waiting.round.reserve(before + 1);  // Room for the end of every wait.
    if (add(now(), waiting.round) && waiting.calls() == before) parts_.places.note_dropped();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool DescriptorWatch::join(const Pending& call) {
  using Beside = DescriptorWaits::Beside;
  if (blocked_ == nullptr) return false;
  Beside outcome = Beside::refused;
  const bool done = add_by(*blocked_, [&](Instant moment, DescriptorWaits::Round& round) {
    outcome = blocked_->waits.add_beside(call, moment, round);
    return outcome != Beside::refused;
  });
  if (!done || outcome == Beside::refused) return false;
  // The launch is looked at last: see look_at_launch(). If the host program closed the event
  // descriptor, the thread looks when it would have looked anyway.
  if (outcome == Beside::must_wake || parts_.backend.abandoned()) static_cast<void>(call_thread());
  return true;
}

bool DescriptorWatch::call_thread() {
  if (!called_) called_ = wake();
  return called_;
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

bool DescriptorWatch::take_new(ServiceThread& self, Waiting& waiting) {
  while (true) {
    Pending call;
    {
      const std::lock_guard lock(mutex_);
      if (new_waits_.empty()) return stopping_;
      call = new_waits_.pop_front();
    }
    const bool added = add_by(waiting, [&](Instant moment, DescriptorWaits::Round& round) {
      waiting.waits.add(call, moment, round);
      return true;
    });
    if (!added) {
      parts_.answers.answer_late(self.stats, call.request, -ENOMEM, {call.begun, cycles()});
    }
  }
}

void DescriptorWatch::wait(Waiting& waiting) {
  auto& [waits, round] = waiting;
  {
    const std::lock_guard lock(mutex_);
    if (!new_waits_.empty() || stopping_) return;
    waits.begin_wait(event_.number(), round);
    if (!round.empty()) return;
    blocked_ = &waiting;
    called_ = false;
  }
  waits.block();
  {
    const std::lock_guard lock(mutex_);
    blocked_ = nullptr;
  }
  waits.end_wait(round);
}

void DescriptorWatch::answer(ServiceThread& self, const DescriptorWaits::Round& round) {
  const std::uint64_t done = cycles();
  for (const DescriptorWaits::Answered& answered : round.answered) {
    parts_.answers.answer_late(self.stats, answered.call.request, answered.value,
                               {answered.call.begun, done});
  }
}

void DescriptorWatch::run(ServiceThread& self) {
  Waiting waiting{DescriptorWaits(parts_.files), {}};
  auto& [waits, round] = waiting;
  Nanoseconds mark = thread_time();
  bool stopping = false;
  // At the end the signal wakes the thread, too, because the program may have closed the event
  // descriptor.
  parts_.sleeping.begin(self.sleeper, SleepingCalls::Owner::detached);
  while (!stopping) {
    stopping = take_new(self, waiting);
    if (stopping) {
      waits.end(DescriptorWaits::Whose::everybody, round.answered);
    } else if (parts_.backend.abandoned()) {
      waits.end(DescriptorWaits::Whose::not_detached, round.answered);
    }
    if (round.empty() && !stopping) wait(waiting);
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
