#include "services/sleep.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>

#include "base/clock.hpp"

namespace k2k::services {

namespace {

struct Clock {
  clockid_t id = CLOCK_MONOTONIC;
  bool absolute = false;
  std::uint64_t duration = 0;  // The address of a timespec.
};

// Nothing: not a sleep, or by a clock that now() does not follow. Linux measures a relative sleep
// by CLOCK_REALTIME with CLOCK_MONOTONIC (clock_nanosleep(2)).
std::optional<Clock> clock_of(const Request& request) {
  const auto& word = request.arguments;
  if (request.number == SYS_nanosleep) return Clock{.duration = word[0]};
  if (request.number != SYS_clock_nanosleep) return {};
  const Clock clock{static_cast<clockid_t>(word[0]), word[1] == TIMER_ABSTIME, word[2]};
  if (word[1] != 0 && !clock.absolute) return {};
  const bool steady =
      clock.id == CLOCK_MONOTONIC || (clock.id == CLOCK_REALTIME && !clock.absolute);
  return steady ? std::optional(clock) : std::nullopt;
}

// 0, EFAULT, or another error if the system refuses such copies.
int copy_timespec(std::uint64_t address, timespec& into) {
  const iovec here{&into, sizeof(into)};
  const iovec there{reinterpret_cast<void*>(address), sizeof(into)};
  const ssize_t copied = ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0);
  if (copied == static_cast<ssize_t>(sizeof(into))) return 0;
  return copied < 0 ? errno : EFAULT;
}

}  // namespace

Answer sleep_or_wait(const Request& request) {
  const Answer by_thread{.would_wait = true};
  const std::optional<Clock> clock = clock_of(request);
  if (!clock) return by_thread;
  timespec duration{};
  const int error = copy_timespec(clock->duration, duration);
  if (error == EFAULT) return {.value = -EFAULT};
  if (error != 0) return by_thread;
  if (duration.tv_sec < 0 || duration.tv_nsec < 0 || duration.tv_nsec >= 1'000'000'000) {
    return {.value = -EINVAL};
  }
  // Longer sleeps end with the launch: a century, so that no sum overflows.
  const std::int64_t seconds = std::min<std::int64_t>(duration.tv_sec, 3'155'760'000);
  const Nanoseconds length = std::chrono::seconds(seconds) + Nanoseconds(duration.tv_nsec);
  const Instant begin = now();
  const Instant end = clock->absolute ? Instant(length) : begin + length;
  if (end <= begin) return {};
  return {.would_wait = true, .readiness = {.moment = end}};
}

}  // namespace k2k::services
