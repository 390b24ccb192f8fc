#include "server/pool/system_calls.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/naps.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k::server {

bool SystemCalls::fall_asleep(ServiceThread& self, const services::Request& request) {
  const bool detached = request.detached();
  using Owner = SleepingCalls::Owner;
  sleeping_.begin(self.sleeper, detached ? Owner::detached : Owner::launch);
  // The order matters: a thread that abandons a launch looks for sleepers afterwards, so one of the
  // two threads sees the other.
  return detached || !backend_->abandoned();
}

std::int64_t SystemCalls::wake_up(ServiceThread& self, std::int64_t value) {
  const bool interrupted = sleeping_.end(self.sleeper);
  return interrupted && value == -EINTR ? -ECANCELED : value;
}

services::Answer SystemCalls::attempt_that_may_sleep(ServiceThread& self, Pending& pending) {
  services::Answer answer{.value = -ECANCELED};
  if (fall_asleep(self, pending.request)) {
    answer = services::execute_without_waiting(pending.request, pending.progress, *files_);
  }
  answer.value = wake_up(self, answer.value);
  return answer;
}

std::int64_t SystemCalls::wait(ServiceThread& self, Pending& pending) {
  const KernelWork others(*admission_, pending.request);
  admission_->begin_sleeping_call(self.account);
  std::int64_t value = -ECANCELED;
  if (fall_asleep(self, pending.request)) {
    const bool confined = rules_ != nullptr && rules_->confines(pending.request.number);
    value = confined ? rules_->perform(pending.request)
                     : services::execute_waiting(pending.request, pending.progress, interruption(),
                                                 *files_);
  }
  return wake_up(self, value);
}

// Sends the signal until no call of the launch sleeps, at growing intervals: real-time signals
// queue if they do not end a call.
void SystemCalls::end_sleeps_of_launch() {
  using namespace std::chrono_literals;
  Naps naps(100us, 50ms);
  while (sleeping_.interrupt(false)) naps.take();
}

void SystemCalls::end_waits() {
  const std::uint64_t one = 1;
  // There is no event if start() failed. The write fails if the host program closed the descriptor;
  // calls that wait are abandoned then.
  static_cast<void>(::write(event_.number(), &one, sizeof(one)));
}

}  // namespace k2k::server
