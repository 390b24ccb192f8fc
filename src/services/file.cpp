#include "services/file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "router/door/files.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

constexpr std::uint16_t read_number = 0;
constexpr long whole_file_position = -1;  // preadv2: use and move the file's own position.

bool is_regular(int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

// Pipes, sockets, terminals, and descriptors without a type (eventfd and similar). poll(2) reports
// files and block devices as always ready.
bool has_readiness(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return false;
  const mode_t type = status.st_mode & S_IFMT;
  return type == S_IFIFO || type == S_IFSOCK || type == S_IFCHR || type == 0;
}

std::int64_t attempt_on(int descriptor, const Request& request, std::uint64_t done, int flags,
                        router::Files& files) {
  iovec part{reinterpret_cast<void*>(request.arguments[1] + done), request.arguments[2] - done};
  const bool reads = request.number == read_number;
  const auto answer =
      files.call({.descriptor = descriptor, .pieces = {&part, 1}, .write = !reads, .flags = flags});
  if (answer) return *answer;
  const long number = reads ? SYS_preadv2 : SYS_pwritev2;
  return raw(number, static_cast<std::uint64_t>(descriptor), &part, 1ul, whole_file_position,
             whole_file_position, flags);
}

std::int64_t attempt(const Request& request, std::uint64_t done, int flags, router::Files& files) {
  return attempt_on(static_cast<int>(request.arguments[0]), request, done, flags, files);
}

// Before Linux 6.4 pipes know no RWF_NOWAIT: a description of our own, opened O_NONBLOCK, does not
// wait. -EOPNOTSUPP: no pipe, or it may not be opened again.
std::int64_t attempt_on_own_description(const Request& request, std::uint64_t done,
                                        router::Files& files) {
  struct stat status{};
  const int descriptor = static_cast<int>(request.arguments[0]);
  if (::fstat(descriptor, &status) != 0 || !S_ISFIFO(status.st_mode)) return -EOPNOTSUPP;
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", descriptor);
  const int mode = request.number == read_number ? O_RDONLY : O_WRONLY;
  const int own = ::open(path.data(), mode | O_NONBLOCK | O_CLOEXEC);
  if (own < 0) return -EOPNOTSUPP;
  const std::int64_t value = attempt_on(own, request, done, 0, files);
  ::close(own);
  return value;
}

// -EOPNOTSUPP: only a call that waits can tell.
std::int64_t attempt_without_waiting(const Request& request, std::uint64_t done,
                                     router::Files& files) {
  const std::int64_t value = attempt(request, done, RWF_NOWAIT, files);
  if (value != -EOPNOTSUPP) return value;
  if (never_waits(static_cast<int>(request.arguments[0]))) return attempt(request, done, 0, files);
  return attempt_on_own_description(request, done, files);
}

}  // namespace

Nanoseconds timeout_of(const Readiness& readiness) {
  timeval limit{};
  socklen_t bytes = sizeof(limit);
  const int option = (readiness.events & POLLIN) != 0 ? SO_RCVTIMEO : SO_SNDTIMEO;
  if (::getsockopt(readiness.descriptor, SOL_SOCKET, option, &limit, &bytes) != 0) return {};
  return std::chrono::seconds(limit.tv_sec) + std::chrono::microseconds(limit.tv_usec);
}

bool never_waits(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

Answer transfer_without_waiting(const Request& request, Progress& progress, router::Files& files) {
  const int descriptor = static_cast<int>(request.arguments[0]);
  const bool writes = request.number != read_number;
  // A write to a file stays one call: split, it could interleave with another's.
  if (writes && is_regular(descriptor)) {
    const iovec piece{reinterpret_cast<void*>(request.arguments[1]), request.arguments[2]};
    const auto answer =
        files.call({.descriptor = descriptor, .pieces = {&piece, 1}, .write = true});
    return {answer ? *answer : pass_on(request), false, {}};
  }
  const auto done = static_cast<std::int64_t>(progress.bytes);
  const std::int64_t value = attempt_without_waiting(request, progress.bytes, files);
  if (value == -EOPNOTSUPP && !never_waits(descriptor)) return {0, true, {}};
  if (value == -EAGAIN && !never_waits(descriptor)) {
    if (!has_readiness(descriptor)) return {.would_wait = true, .keeps_role = true};
    return {0, true, {descriptor, static_cast<short>(writes ? POLLOUT : POLLIN)}};
  }
  if (value < 0) return {done > 0 ? done : value, false, {}};
  if (value == 0 || static_cast<std::uint64_t>(done + value) == request.arguments[2]) {
    return {done + value, false, {}};
  }
  // Short. Of a peer's data that is an answer; of a file only at its end; of a write only if the
  // descriptor does not wait.
  if (writes ? never_waits(descriptor) : !is_regular(descriptor)) return {done + value, false, {}};
  progress.bytes += static_cast<std::uint64_t>(value);
  if (writes) return {0, true, {descriptor, POLLOUT}};
  const std::int64_t rest = attempt(request, progress.bytes, RWF_NOWAIT, files);
  if (rest == 0) return {done + value, false, {}};
  if (rest > 0) progress.bytes += static_cast<std::uint64_t>(rest);
  return {.would_wait = true, .keeps_role = true};
}

std::int64_t transfer_waiting(const Request& request, Progress& progress, Interruption interruption,
                              router::Files& files) {
  const auto done = static_cast<std::int64_t>(progress.bytes);
  const short events = request.number == read_number ? POLLIN : POLLOUT;
  std::int64_t rest = wait_ready(static_cast<int>(request.arguments[0]), events, interruption);
  if (rest == 0) rest = attempt(request, progress.bytes, 0, files);
  if (rest < 0) return done > 0 ? done : rest;
  return done + rest;
}

std::int64_t wait_ready(int descriptor, short events, Interruption interruption) {
  pollfd watched[2] = {{descriptor, events, 0}, {interruption.descriptor, POLLIN, 0}};
  while (true) {
    const int count = ::poll(watched, 2, -1);
    if (count < 0 && errno == EINTR) return -EINTR;      // Sent to end it: its launch is over.
    if (count < 0 || watched[0].revents != 0) return 0;  // The call itself reports what is wrong.
    if ((watched[1].revents & POLLNVAL) != 0) {
      watched[1].fd = -1;  // The program closed it: nothing will interrupt this wait.
    } else if (watched[1].revents != 0) {
      return -ECANCELED;
    }
  }
}

}  // namespace k2k::services
