#include "server/reads/cold_reads.hpp"

#include <unistd.h>

#include <cerrno>
#include <new>

#include "base/clock.hpp"
#include "io/file/page_range.hpp"

namespace k2k::server {

bool ColdReads::take(const Pending& call) {
  if (closed_.load(std::memory_order_relaxed) || !suits_a_ring(call.request, parts_.files)) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (closed_.load(std::memory_order_relaxed)) return false;
  if (!started_) {
    started_ = parts_.threads.add([this](ServiceThread& self) { run(self); }, "k2k/reads");
  }
  if (!started_ || (asleep_ && !wake())) return false;
  asleep_ = false;
  queue_.push_back(call);  // Under the lock that the woken thread needs first.
  return true;
}

bool ColdReads::wake() {
  const std::uint64_t one = 1;
  return ::write(event_.number(), &one, sizeof(one)) == sizeof(one);
}

void ColdReads::stop() {
  const std::lock_guard lock(mutex_);
  closed_.store(true, std::memory_order_relaxed);
  stopping_ = true;
  if (std::exchange(asleep_, false)) static_cast<void>(wake());
}

void ColdReads::close() {
  while (true) {
    Pending call;
    {
      const std::lock_guard lock(mutex_);
      closed_.store(true, std::memory_order_relaxed);
      if (queue_.empty()) return;
      call = queue_.pop_front();
    }
    parts_.pool.queue(call);
  }
}

void ColdReads::run(ServiceThread& self) {
  // At the end the signal wakes the thread, too, because the program may have closed the event
  // descriptor.
  parts_.sleeping.begin(self.sleeper, SleepingCalls::Owner::detached);
  Result<io::Ring> ring = make_ring_(RingReads::entries);
  if (ring) {
    try {
      RingReads reads(std::move(ring).value(), event_.number());
      serve(self, reads);
    } catch (const std::bad_alloc&) {  // No memory for the tables: no read is in flight.
    }
  }
  close();
}

void ColdReads::serve(ServiceThread& self, RingReads& reads) {
  RingReads::Round round;
  Nanoseconds mark = thread_time();
  std::uint32_t served = 0;
  while (!take_new(self, reads)) {
    if (!reads.empty()) parts_.admission.pass(self.account, served);
    const bool may_wait = reads.submit(round);
    if (!may_wait && round.for_pool.empty()) return;  // The thread cannot be woken any more.
    if (may_wait) {
      parts_.admission.leave(self.account);  // The time of copies while it waits becomes debt.
      reads.wait(round);
    }
    answer(self, round);
    self.account.interrupts += static_cast<std::uint32_t>(round.answered.size());
    const Nanoseconds moment = thread_time();
    charge(self, round, cycles_in(moment - mark));
    mark = moment;
    served = static_cast<std::uint32_t>(round.answered.size());
    round.answered.clear();
    parts_.admission.leave(self.account);
    self.settle(cycles());
    for (const Pending& call : round.for_pool) parts_.pool.queue(call);
    round.for_pool.clear();
  }
}

bool ColdReads::take_new(ServiceThread& self, RingReads& reads) {
  const std::uint64_t moment = cycles();
  while (true) {
    Pending call;
    bool ends = false;
    {
      const std::lock_guard lock(mutex_);
      ends = stopping_;
      asleep_ = queue_.empty() && !stopping_;
      if (queue_.empty()) return stopping_ && reads.empty();
      if (reads.full() && !ends) return false;
      call = queue_.pop_front();
    }
    ends = ends || (parts_.backend.abandoned() && !call.request.detached());
    if (ends) {
      parts_.answers.answer_late(self.stats, call.request, -ECANCELED, {call.begun, moment});
    } else {
      reads.add(call, moment);
    }
  }
}

void ColdReads::answer(ServiceThread& self, const RingReads::Round& round) {
  const std::uint64_t done = cycles();
  for (const RingReads::Answered& each : round.answered) {
    const services::Request& request = each.read.call.request;
    const ColdRead read = cold_read_of(request);
    parts_.files.note_plain(read.descriptor, read.bytes, static_cast<std::int64_t>(read.offset),
                            each.value, each.read.begun);
    parts_.answers.answer_late(self.stats, request, each.value, {each.read.call.begun, done});
  }
}

// Charges the thread's CPU time to the reads that it answered, in proportion to their lengths.
void ColdReads::charge(ServiceThread& self, const RingReads::Round& round, std::uint64_t spent) {
  const auto weight = [](const RingReads::Answered& each) {
    const std::int64_t copied = each.value > 0 ? each.value : 0;
    return static_cast<std::uint64_t>(copied) + io::page_bytes;
  };
  std::uint64_t all = 0;
  for (const RingReads::Answered& each : round.answered) all += weight(each);
  if (all == 0) return self.stats.ledger.charge(telemetry::Stage::polling, spent);
  for (const RingReads::Answered& each : round.answered) {
    self.charge(telemetry::Stage::service, spent * weight(each) / all, each.read.call.request);
  }
}

}  // namespace k2k::server
