#include "services/sleep.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <optional>

#include "base/clock.hpp"
#include "calls/waits.hpp"
#include "services/file.hpp"
#include "services/opens/copy_in.hpp"
#include "services/polls.hpp"
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
  const std::optional<Instant> end = end_of(duration, sleep.absolute);
  if (!end) return {.value = -EINVAL};
  if (*end <= now()) return {};
  return {.would_wait = true, .readiness = {.moment = *end}};
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

// -- waits for a queue, and for the end of a process
// ------------------------------------------------

constexpr timespec long_ago{0, 0};

// A POSIX queue. Linux waits with a deadline by CLOCK_REALTIME, which a program may set: by a
// thread.
Answer try_queue(const Request& request) {
  const auto& word = request.arguments;
  if (word[4] != 0) return by_thread;
  const std::int64_t value = raw(request.number, word[0], word[1], word[2], word[3], &long_ago);
  if (value != -ETIMEDOUT) return {.value = value};
  const bool sends = request.number == SYS_mq_timedsend;
  return {.would_wait = true,
          .readiness = {.descriptor = static_cast<int>(word[0]),
                        .events = static_cast<short>(sends ? POLLOUT : POLLIN)}};
}

// The descriptor of a process reports its end, and nothing else. The look leaves no trace: it
// writes to memory of its own, and reaps nothing (services/own_process.cpp).
Answer try_end_of_process(const Request& request) {
  const auto& word = request.arguments;
  const auto options = static_cast<int>(word[3]);
  if (static_cast<int>(word[0]) != P_PIDFD || options != (WEXITED | WNOWAIT)) return by_thread;
  siginfo_t info{};
  const std::int64_t value = raw(SYS_waitid, word[0], word[1], &info, options | WNOHANG, nullptr);
  if (value == 0 && info.si_pid == 0) {
    return {.would_wait = true,
            .readiness = {.descriptor = static_cast<int>(word[1]), .events = POLLIN}};
  }
  return {.value = pass_on(request)};
}

// -- waits for a word -----------------------------------------------------------------------------

// Waits by a clock that now() does not follow, and for some wakers only, keep a thread.
bool is_plain_futex_wait(const Request& request) {
  if (request.number != SYS_futex) return false;
  const std::uint32_t operation =
      static_cast<std::uint32_t>(request.arguments[1]) & ~std::uint32_t{FUTEX_PRIVATE_FLAG};
  const auto wakers = static_cast<std::uint32_t>(request.arguments[5]);
  return operation == FUTEX_WAIT ||
         (operation == FUTEX_WAIT_BITSET && wakers == FUTEX_BITSET_MATCH_ANY);
}

// As Linux looks: first at the timeout, then at the word.
Answer try_futex(const Request& request) {
  const auto& word = request.arguments;
  Answer wait{.would_wait = true, .readiness = {.futex = true}};
  if (word[3] != 0) {
    timespec limit{};
    const int error = copy_in(word[3], &limit, sizeof(limit));
    if (error == EFAULT) return {.value = -EFAULT};
    if (error != 0) return by_thread;
    const bool relative = (word[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
    const std::optional<Instant> end = end_of(limit, !relative);
    if (!end) return {.value = -EINVAL};
    wait.readiness.moment = *end;
  }
  if (word[0] % sizeof(std::uint32_t) != 0) return {.value = -EINVAL};
  std::uint32_t value = 0;
  const int error = copy_in(word[0], &value, sizeof(value));
  if (error == EFAULT) return {.value = -EFAULT};
  if (error != 0) return by_thread;
  if (value != static_cast<std::uint32_t>(word[2])) return {.value = -EAGAIN};
  if (wait.readiness.has_moment() && wait.readiness.moment <= now()) return {.value = -ETIMEDOUT};
  return wait;
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

Answer try_descriptors(const Request& request, Progress& progress) {
  switch (request.number) {
    case SYS_accept:
    case SYS_accept4:
      return try_accept(request);
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
      return try_queue(request);
    case SYS_waitid:
      return try_end_of_process(request);
    default:
      return try_polls(request, progress).value_or(by_thread);
  }
}

}  // namespace

std::optional<Instant> end_of(const timespec& time, bool absolute) {
  if (time.tv_sec < 0 || time.tv_nsec < 0 || time.tv_nsec >= 1'000'000'000) return {};
  const std::int64_t seconds = std::min<std::int64_t>(time.tv_sec, seconds_max);
  const Nanoseconds length = std::chrono::seconds(seconds) + Nanoseconds(time.tv_nsec);
  return absolute ? Instant(length) : now() + length;
}

Answer sleep_or_wait(const Request& request, Progress& progress) {
  if (!may_wait(request)) return {.value = pass_on(request)};
  switch (calls::wait_end_of(request.number)) {
    case calls::WaitEnd::descriptor:
      return try_descriptors(request, progress);
    case calls::WaitEnd::moment:
      if (const std::optional<Sleep> sleep = sleep_of(request)) return try_sleep(*sleep);
      break;
    case calls::WaitEnd::word:
      if (is_plain_futex_wait(request)) return try_futex(request);
      break;
    case calls::WaitEnd::none:
    case calls::WaitEnd::signal:
      break;
  }
  return by_thread;
}

}  // namespace k2k::services
