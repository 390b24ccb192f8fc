#pragma once
// Blocks the calling thread's signals for a scope in which threads are started. Signals belong to
// the program, and a thread inherits its starter's mask.
//
// Threading: made and ended on one thread.

#include <pthread.h>

#include <csignal>
#include <initializer_list>

namespace k2k {

class SignalsBlocked {
 public:
  // Blocks all signals except `others`: a fault's signal cannot wait; blocked, it would kill the
  // process.
  explicit SignalsBlocked(std::initializer_list<int> others = {}) {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int signal : others) sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace k2k
