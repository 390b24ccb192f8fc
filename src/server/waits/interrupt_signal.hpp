#pragma once
// The signal that brings a service thread back from a call which sleeps in the kernel and has no
// descriptor to wait for: FUTEX_WAIT, an open of a FIFO (docs/decisions/0044).
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

  // The calling thread may be interrupted from now on. A signal sent before has arrived when this
  // returns.
  void listen() const;
  // Its number; 0: none was free, or the program handles it itself by now.
  [[nodiscard]] int number() const;
  // False: nothing was sent.
  [[nodiscard]] bool send(pthread_t thread) const;

 private:
  int number_ = 0;  // 0 = none was free: no thread is interrupted.
};

}  // namespace k2k::server
