#pragma once
// Limits the sleep of a thread that serves many calls: a call may sleep although its descriptor was
// ready, if another thread or process took the connection meanwhile (accept(2)).
//
//   begin() ─▶ the call ─▶ end()      a call that sleeps longer than `patience` ends with EINTR
//
// Threading: confined to the thread that makes the calls.

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

  // Creates the timer if there is none. Returns false if the system gives none (the limit on
  // pending signals), or if there is no signal for it.
  bool open();
  // Of calls that would only wait for a distant peer.
  static constexpr Nanoseconds shortest = std::chrono::microseconds(50);

  // A call may be made between begin() and end(). Expects open().
  void begin(Nanoseconds patience = longest) { set(patience); }
  void end() { set(Nanoseconds::zero()); }

 private:
  void set(Nanoseconds patience);

  const InterruptSignal signal_;
  timer_t timer_{};
  bool made_ = false;
};

}  // namespace k2k::server
