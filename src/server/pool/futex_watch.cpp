#include "server/pool/futex_watch.hpp"

#include <algorithm>
#include <new>

#include "base/clock.hpp"

namespace k2k::server {

bool FutexWatch::take(const Pending& call) {
  if (!call.readiness.futex) return false;
  const std::uint64_t word = call.request.arguments[0];
  const std::lock_guard lock(mutex_);
  if (stopping_ || missing_) return false;
  Waiter* const waiter = choose(word);
  if (waiter == nullptr) return false;
  waiter->word = waiter->calls == 0 || waiter->word == word ? word : several;
  const std::size_t before = waiter->arrivals.size();
  waiter->arrivals.push_back(call);
  waiter->calls += waiter->arrivals.size() - before;
  waiter->bell.ring();
  return true;
}

FutexWatch::Waiter* FutexWatch::choose(std::uint64_t word) {
  Waiter* idle = nullptr;
  Waiter* least = nullptr;
  for (std::size_t index = 0; index < started_; ++index) {
    Waiter* const waiter = waiters_[index].get();
    if (waiter->calls == FutexWaits::calls_max) continue;
    if (waiter->calls != 0 && waiter->word == word) return waiter;
    if (waiter->calls == 0) idle = waiter;
    if (least == nullptr || waiter->calls < least->calls) least = waiter;
  }
  if (idle != nullptr) return idle;
  if (started_ >= waiters_alone && least != nullptr) return least;
  Waiter* const started = start_waiter();
  return started != nullptr ? started : least;
}

FutexWatch::Waiter* FutexWatch::start_waiter() {
  if (started_ == waiters_max) return nullptr;
  std::unique_ptr<Waiter>& place = waiters_[started_];
  try {
    if (place == nullptr) place = std::make_unique<Waiter>(parts_.places);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  Waiter* const waiter = place.get();
  if (!parts_.threads.add([this, waiter](ServiceThread& self) { run(self, *waiter); },
                          "k2k/futex%u", static_cast<std::uint32_t>(started_))) {
    return nullptr;
  }
  ++started_;
  return waiter;
}

void FutexWatch::look_at_launch() {
  const std::lock_guard lock(mutex_);
  for (std::size_t index = 0; index < started_; ++index) waiters_[index]->bell.ring();
}

void FutexWatch::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  for (std::size_t index = 0; index < started_; ++index) waiters_[index]->bell.ring();
}

bool FutexWatch::take_arrivals(Waiter& waiter, FutexWaits& waits) {
  const std::lock_guard lock(mutex_);
  while (!waiter.arrivals.empty()) {
    if (waits.add(waiter.arrivals.pop_front())) continue;
    --waiter.calls;
    parts_.places.note_dropped();
  }
  return stopping_;
}

void FutexWatch::answer(ServiceThread& self, Waiter& waiter, const FutexWaits::Round& round) {
  {
    const std::lock_guard lock(mutex_);
    waiter.calls -= round.answered.size() + round.for_pool.size();
    missing_ = missing_ || !round.for_pool.empty();
  }
  for (const Pending& call : round.for_pool) parts_.pool.queue(call);
  const std::uint64_t done = cycles();
  for (const FutexWaits::Answered& answered : round.answered) {
    parts_.answers.answer_late(self.stats, answered.call.request, answered.value,
                               {answered.call.begun, done});
  }
}

void FutexWatch::run(ServiceThread& self, Waiter& waiter) {
  FutexWaits& waits = waiter.waits;
  FutexWaits::Round& round = waiter.round;
  Nanoseconds mark = thread_time();
  bool stopping = false;
  while (!stopping) {
    const std::uint32_t seen = waiter.bell.value();  // Before the look at what it rings for.
    stopping = take_arrivals(waiter, waits);
    if (stopping) {
      waits.end(FutexWaits::Whose::everybody, round);
    } else if (parts_.backend.abandoned()) {
      waits.end(FutexWaits::Whose::not_detached, round);
    }
    if (round.answered.empty() && !stopping) waits.wait(waiter.bell, seen, round);
    answer(self, waiter, round);
    // Charges the thread's CPU time to the calls that it answered.
    const Nanoseconds moment = thread_time();
    const std::uint64_t spent = cycles_in(moment - mark);
    if (round.answered.empty()) self.stats.ledger.charge(telemetry::Stage::polling, spent);
    for (const FutexWaits::Answered& answered : round.answered) {
      self.charge(telemetry::Stage::service, spent / round.answered.size(), answered.call.request);
    }
    round.answered.clear();
    round.for_pool.clear();
    parts_.admission.leave(self.account);
    self.settle(cycles());
    mark = moment;
  }
}

}  // namespace k2k::server
