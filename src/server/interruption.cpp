// Calls that sleep where no descriptor tells: who is in one, and how it is ended.

#include "server/interruption.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "server/core.hpp"

namespace k2k::server {

namespace {

// A child of fork() may find it held by a thread that is the parent's: it then takes it over.
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
int claimed = 0;  // Likewise.

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
  // The program may have taken it meanwhile.
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

bool InterruptSignal::send(pthread_t thread) const {
  return number_ != 0 && is_ours(number_) && ::pthread_kill(thread, number_) == 0;
}

bool Server::Core::fall_asleep(ServiceThread& self, const services::Request& request) {
  const bool detached = request.detached();
  {
    const std::lock_guard lock(mutex_);
    self.sleep = detached ? ServiceThread::Sleep::detached : ServiceThread::Sleep::of_launch;
  }
  // After that: who abandons a launch looks for sleepers later, so one of the two sees the other.
  return detached || !backend_->abandoned();
}

std::int64_t Server::Core::wake_up(ServiceThread& self, std::int64_t value) {
  bool interrupted;
  {
    const std::lock_guard lock(mutex_);
    self.sleep = ServiceThread::Sleep::none;
    interrupted = std::exchange(self.interrupted, false);
  }
  if (!interrupted) return value;
  interruption_signal_.listen();  // So that it does not meet the next call.
  return value == -EINTR ? -ECANCELED : value;
}

bool Server::Core::interrupt_sleepers(bool detached_too) {
  bool any = false;
  for (const auto& thread : threads_) {
    const bool meant = thread->sleep == ServiceThread::Sleep::of_launch ||
                       (detached_too && thread->sleep == ServiceThread::Sleep::detached);
    if (thread->ended || !meant) continue;
    if (!interruption_signal_.send(thread->thread.native_handle())) continue;
    thread->interrupted = true;
    any = true;
  }
  return any;
}

services::Answer Server::Core::attempt_that_may_sleep(ServiceThread& self, Pending& pending) {
  services::Answer answer{.value = -ECANCELED};
  if (fall_asleep(self, pending.request)) {
    answer = services::execute_without_waiting(pending.request, pending.progress, files_.get());
  }
  answer.value = wake_up(self, answer.value);
  return answer;
}

// A signal that comes before the thread is in the kernel is lost, so it is sent again. Rarely, if a
// call does not end by it: real-time signals queue.
void Server::Core::end_sleeps_of_launch() {
  using namespace std::chrono_literals;
  Nanoseconds nap = 100us;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (!interrupt_sleepers(false)) return;
    }
    std::this_thread::sleep_for(nap);
    nap = std::min<Nanoseconds>(nap * 2, 50ms);
  }
}

}  // namespace k2k::server
