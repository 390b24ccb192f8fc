#pragma once
// Calls that sleep and have no descriptor to wait for: tracks the service threads in such calls,
// and ends the calls.
//
//   begin() ─▶ the call ─▶ end()      interrupt() sends the signal to threads between the two
//
// A signal before the thread has entered Linux is lost: interrupt() reports that there was a
// sleeper, and its caller calls it again.
//
// Threading: all members from anywhere; a Sleeper belongs to one thread.

#include <pthread.h>

#include <cstdint>
#include <mutex>
#include <utility>

#include "server/waits/interrupt_signal.hpp"

namespace k2k::server {

class SleepingCalls {
 public:
  enum class Owner : std::uint8_t { launch, detached };

  // A service thread, from join() to leave().
  struct Sleeper {
    pthread_t thread{};
    Owner owner = Owner::launch;
    bool asleep = false;
    bool interrupted = false;  // The signal was sent during this call.
    Sleeper* next = nullptr;
  };

  // Permits interrupts of the calling thread.
  void join(Sleeper& self) {
    signal_.listen();
    const std::lock_guard lock(mutex_);
    self.thread = pthread_self();
    self.next = std::exchange(first_, &self);
  }
  // After leave() no signal is sent to the calling thread.
  void leave(Sleeper& self) {
    const std::lock_guard lock(mutex_);
    Sleeper** place = &first_;
    while (*place != &self) place = &(*place)->next;
    *place = self.next;
  }

  void begin(Sleeper& self, Owner owner) {
    const std::lock_guard lock(mutex_);
    self.owner = owner;
    self.asleep = true;
  }
  // Returns true if the call was interrupted. The signal cannot interrupt the next call.
  bool end(Sleeper& self) {
    bool interrupted = false;
    {
      const std::lock_guard lock(mutex_);
      self.asleep = false;
      interrupted = std::exchange(self.interrupted, false);
    }
    if (interrupted) signal_.listen();
    return interrupted;
  }

  // Sends the signal to all sleeping calls, or only to the calls of launches. Returns false if no
  // call sleeps, or if there is no signal.
  bool interrupt(bool detached_too) {
    bool any = false;
    const std::lock_guard lock(mutex_);
    for (Sleeper* at = first_; at != nullptr; at = at->next) {
      const bool meant = at->asleep && (detached_too || at->owner == Owner::launch);
      if (!meant || !signal_.send(at->thread)) continue;
      at->interrupted = true;
      any = true;
    }
    return any;
  }

 private:
  const InterruptSignal signal_;
  std::mutex mutex_;  // Guards the list and its members.
  Sleeper* first_ = nullptr;
};

}  // namespace k2k::server
