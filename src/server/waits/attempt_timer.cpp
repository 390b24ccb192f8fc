#include "server/waits/attempt_timer.hpp"

#include <unistd.h>

#include <csignal>

namespace k2k::server {

AttemptTimer::~AttemptTimer() {
  if (made_) ::timer_delete(timer_);
}

bool AttemptTimer::open() {
  const int number = signal_.number();
  if (number == 0 || made_) return number != 0;
  signal_.listen();
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = number;
  event._sigev_un._tid = ::gettid();
  made_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
  return made_;
}

// The timer repeats until end(), because a signal before the thread has entered Linux is lost.
void AttemptTimer::set(Nanoseconds patience) {
  const timespec time{0, patience.count()};
  const itimerspec times{time, time};
  ::timer_settime(timer_, 0, &times, nullptr);
}

}  // namespace k2k::server
