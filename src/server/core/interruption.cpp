// Calls that sleep where no descriptor tells (sleeping_calls.hpp): what they answer once they end.

#include <cerrno>

#include "base/naps.hpp"
#include "server/core/core.hpp"

namespace k2k::server {

bool Server::Core::fall_asleep(ServiceThread& self, const services::Request& request) {
  const bool detached = request.detached();
  using Owner = SleepingCalls::Owner;
  sleeping_calls_.begin(self.sleeper, detached ? Owner::detached : Owner::launch);
  // After that: a thread that abandons a launch looks for sleepers later, so one of the two sees
  // the other.
  return detached || !backend_->abandoned();
}

std::int64_t Server::Core::wake_up(ServiceThread& self, std::int64_t value) {
  const bool interrupted = sleeping_calls_.end(self.sleeper);
  return interrupted && value == -EINTR ? -ECANCELED : value;
}

services::Answer Server::Core::attempt_that_may_sleep(ServiceThread& self, Pending& pending) {
  services::Answer answer{.value = -ECANCELED};
  if (fall_asleep(self, pending.request)) {
    answer = services::execute_without_waiting(pending.request, pending.progress, *files_);
  }
  answer.value = wake_up(self, answer.value);
  return answer;
}

// The signal is sent again until no call of the launch sleeps. Rarely, if a call does not end by
// it: real-time signals queue.
void Server::Core::end_sleeps_of_launch() {
  using namespace std::chrono_literals;
  Naps naps(100us, 50ms);
  while (sleeping_calls_.interrupt(false)) naps.take();
}

}  // namespace k2k::server
