// Calls that sleep where no descriptor tells: who is in one, and how it is ended.

#include "server/core/core.hpp"

namespace k2k::server {

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
    answer = services::execute_without_waiting(pending.request, pending.progress, *files_);
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
