#pragma once
// The signal that ends a service thread's call which sleeps in Linux and has no descriptor to wait
// for: FUTEX_WAIT, an open of a FIFO (docs/decisions/0044).
//
//   claimed      by the first server of the process: the highest real-time signal below SIGRTMAX
//                that no program handles, by a handler that does nothing
//   heard        by service threads; the masks of all others are the program's
//   sent         to a thread that is in such a call, unless the program handles it itself by now
//   given back   by the last server: its former action is restored
//
// Threading: from anywhere; listen() is for the calling thread.

#include <pthread.h>

namespace k2k::server {

class InterruptSignal {
 public:
  InterruptSignal();
  ~InterruptSignal();
  InterruptSignal(const InterruptSignal&) = delete;
  InterruptSignal& operator=(const InterruptSignal&) = delete;

  // Permits interrupts of the calling thread. A signal sent before has arrived when listen()
  // returns.
  void listen() const;
  // The signal's number; 0 if none was free, or if the program now handles it itself.
  [[nodiscard]] int number() const;
  // Returns false if no signal was sent.
  [[nodiscard]] bool send(pthread_t thread) const;

 private:
  int number_ = 0;  // 0 = no signal was free: no thread is interrupted.
};

}  // namespace k2k::server
