#include "server/waits/interrupt_signal.hpp"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <mutex>

namespace k2k::server {

namespace {

// A child of fork() may find the lock held by a thread of the parent: the child then takes the lock
// over.
class LockOfProcess {
 public:
  void lock() {
    const pid_t own = ::getpid();
    pid_t holder = holder_.load();
    while (holder == own || !holder_.compare_exchange_weak(holder, own)) {
      ::sched_yield();
      holder = holder_.load();
    }
  }
  void unlock() { holder_.store(0); }

 private:
  std::atomic<pid_t> holder_{0};
};

LockOfProcess claiming;
int claims = 0;   // Under `claiming`.
int claimed = 0;  // Under `claiming`.

void do_nothing(int) {}

bool is_ours(int number) {
  struct sigaction found{};
  return ::sigaction(number, nullptr, &found) == 0 && found.sa_handler == do_nothing;
}

int claim() {
  for (int number = SIGRTMAX - 1; number >= SIGRTMIN; --number) {
    struct sigaction found{};
    if (::sigaction(number, nullptr, &found) != 0 || (found.sa_flags & SA_SIGINFO) != 0 ||
        found.sa_handler != SIG_DFL) {
      continue;
    }
    struct sigaction ours{};  // Without SA_RESTART: calls end with EINTR.
    ours.sa_handler = do_nothing;
    ours.sa_flags = SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    if (::sigaction(number, &ours, nullptr) == 0) return number;
  }
  return 0;
}

}  // namespace

InterruptSignal::InterruptSignal() {
  const std::lock_guard lock(claiming);
  // The program may handle the signal itself meanwhile.
  if (claims++ == 0 || (claimed != 0 && !is_ours(claimed))) claimed = claim();
  number_ = claimed;
}

InterruptSignal::~InterruptSignal() {
  const std::lock_guard lock(claiming);
  if (--claims != 0 || claimed == 0 || !is_ours(claimed)) return;
  ::signal(claimed, SIG_DFL);
  claimed = 0;
}

void InterruptSignal::listen() const {
  if (number_ == 0) return;
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, number_);
  pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
}

int InterruptSignal::number() const { return number_ != 0 && is_ours(number_) ? number_ : 0; }

bool InterruptSignal::send(pthread_t thread) const {
  const int usable = number();
  return usable != 0 && ::pthread_kill(thread, usable) == 0;
}

}  // namespace k2k::server
