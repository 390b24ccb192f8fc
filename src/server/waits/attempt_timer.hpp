#pragma once
// Keeps a thread that serves many calls from sleeping in one of them: a call for a descriptor that
// was ready, but whose connection another thread or process took meanwhile (accept(2)).
//
//   begin() ─▶ the call ─▶ end()      a call that sleeps longer than `longest` ends with EINTR
//
// Threading: confined to one thread, the one that makes the calls.

#include <ctime>

#include "base/units.hpp"
#include "server/waits/interrupt_signal.hpp"

namespace k2k::server {

class AttemptTimer {
 public:
  static constexpr Nanoseconds longest = std::chrono::milliseconds(1);

  AttemptTimer() = default;
  ~AttemptTimer();
  AttemptTimer(const AttemptTimer&) = delete;
  AttemptTimer& operator=(const AttemptTimer&) = delete;

  // Makes the timer if there is none. False: the system gives none (the limit on pending signals),
  // or there is no signal for it.
  bool open();
  // Between these two, a call may be made. Expects open().
  void begin() { set(longest); }
  void end() { set(Nanoseconds::zero()); }

 private:
  void set(Nanoseconds period);

  const InterruptSignal signal_;
  timer_t timer_{};
  bool made_ = false;
};

}  // namespace k2k::server
