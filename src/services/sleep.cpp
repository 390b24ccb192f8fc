#include "services/sleep.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>

#include "base/clock.hpp"
#include "services/file.hpp"
#include "services/opens/copy_in.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

constexpr Answer by_thread{.would_wait = true};

// Longer waits end with the launch: a century, so that no sum overflows.
constexpr std::int64_t seconds_max = 3'155'760'000;

// -- sleeps ---------------------------------------------------------------------------------------

struct Sleep {
  bool absolute = false;
  std::uint64_t duration = 0;  // The address of a timespec.
};

// Nothing: not a sleep, or by a clock that now() does not follow. Linux measures a relative sleep
// by CLOCK_REALTIME with CLOCK_MONOTONIC (clock_nanosleep(2)).
std::optional<Sleep> sleep_of(const Request& request) {
  const auto& word = request.arguments;
  if (request.number == SYS_nanosleep) return Sleep{false, word[0]};
  if (request.number != SYS_clock_nanosleep) return {};
  const auto clock = static_cast<clockid_t>(word[0]);
  const bool absolute = word[1] == TIMER_ABSTIME;
  if (word[1] != 0 && !absolute) return {};
  if (clock != CLOCK_MONOTONIC && (clock != CLOCK_REALTIME || absolute)) return {};
  return Sleep{absolute, word[2]};
}

Answer try_sleep(const Sleep& sleep) {
  timespec duration{};
  const int error = copy_in(sleep.duration, &duration, sizeof(duration));
  if (error == EFAULT) return {.value = -EFAULT};
  if (error != 0) return by_thread;
  if (duration.tv_sec < 0 || duration.tv_nsec < 0 || duration.tv_nsec >= 1'000'000'000) {
    return {.value = -EINVAL};
  }
  const std::int64_t seconds = std::min<std::int64_t>(duration.tv_sec, seconds_max);
  const Nanoseconds length = std::chrono::seconds(seconds) + Nanoseconds(duration.tv_nsec);
  const Instant begin = now();
  const Instant end = sleep.absolute ? Instant(length) : begin + length;
  if (end <= begin) return {};
  return {.would_wait = true, .readiness = {.moment = end}};
}

// -- waits for one descriptor ---------------------------------------------------------------------

// The argument that is the timeout in milliseconds, below 0 for ever. Nothing: another call.
std::optional<std::size_t> timeout_place(const Request& request) {
  const auto& word = request.arguments;
  switch (request.number) {
    case SYS_poll:
      return word[1] <= 1 ? std::optional<std::size_t>(2) : std::nullopt;
    case SYS_epoll_wait:
      return 3;
    case SYS_epoll_pwait:
      return word[4] == 0 ? std::optional<std::size_t>(3) : std::nullopt;
    default:
      return {};
  }
}

// What the call waits for, but for its timeout. Nothing: no descriptor.
Readiness descriptor_of(const Request& request) {
  if (request.number != SYS_poll) {
    return {.descriptor = static_cast<int>(request.arguments[0]), .events = POLLIN};
  }
  pollfd watched{-1, 0, 0};
  if (request.arguments[1] != 0)
    static_cast<void>(copy_in(request.arguments[0], &watched, sizeof(watched)));
  return {.descriptor = watched.fd, .events = watched.events};
}

Answer try_poll(const Request& request, std::size_t timeout_at) {
  const auto timeout = static_cast<int>(request.arguments[timeout_at]);
  Request look = request;
  look.arguments[timeout_at] = 0;
  const std::int64_t count = pass_on(look);
  if (count != 0 || timeout == 0) return {.value = count};
  Answer wait{.would_wait = true, .readiness = descriptor_of(request)};
  if (timeout > 0) wait.readiness.moment = now() + std::chrono::milliseconds(timeout);
  return wait;
}

// -- waits for a connection -----------------------------------------------------------------------

// Whether the call could sleep: it has a socket that listens, and flags that Linux knows.
bool waits_for_connection(const Request& request) {
  const auto descriptor = static_cast<int>(request.arguments[0]);
  const auto flags = static_cast<int>(request.arguments[3]);
  if (request.number == SYS_accept4 && (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) != 0) return false;
  int listens = 0;
  socklen_t bytes = sizeof(listens);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 &&
         listens != 0 && !never_waits(descriptor);
}

Answer try_accept(const Request& request) {
  if (waits_for_connection(request)) {
    pollfd listener{static_cast<int>(request.arguments[0]), POLLIN, 0};
    if (::poll(&listener, 1, 0) == 0) {
      return {.would_wait = true,
              .readiness = {.descriptor = listener.fd, .events = listener.events}};
    }
  }
  return {.value = pass_on(request)};
}

// -- calls of which some commands wait, and others do not -----------------------------------------

bool may_wait(const Request& request) {
  const auto& word = request.arguments;
  if (request.number == SYS_fcntl) {
    const auto command = static_cast<int>(word[1]);
    return command == F_SETLKW || command == F_OFD_SETLKW;
  }
  if (request.number != SYS_futex) return true;
  const std::uint32_t operation = static_cast<std::uint32_t>(word[1]) & FUTEX_CMD_MASK;
  return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
}

}  // namespace

Answer sleep_or_wait(const Request& request) {
  if (!may_wait(request)) return {.value = pass_on(request)};
  if (sleeps_if_too_late(request.number)) return try_accept(request);
  if (const std::optional<Sleep> sleep = sleep_of(request)) return try_sleep(*sleep);
  if (const auto timeout_at = timeout_place(request)) return try_poll(request, *timeout_at);
  return by_thread;
}

}  // namespace k2k::services
