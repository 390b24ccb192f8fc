#include "services/file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "services/raw.hpp"

namespace k2k::services {

namespace {

constexpr std::uint16_t read_number = 0;
constexpr long whole_file_position = -1;  // preadv2: use and move the file's own position.

bool is_regular(int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

std::int64_t attempt(const Request& request, std::uint64_t done, int flags) {
  iovec part{reinterpret_cast<void*>(request.arguments[1] + done), request.arguments[2] - done};
  const long number = request.number == read_number ? SYS_preadv2 : SYS_pwritev2;
  return raw(number, request.arguments[0], &part, 1ul, whole_file_position, whole_file_position,
             flags);
}

}  // namespace

bool never_waits(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

Answer transfer_without_waiting(const Request& request, Progress& progress) {
  const int descriptor = static_cast<int>(request.arguments[0]);
  const bool writes = request.number != read_number;
  // A write to a file stays one call: split, it could interleave with another's.
  if (writes && is_regular(descriptor)) return {pass_on(request), false};
  const std::int64_t value = attempt(request, 0, RWF_NOWAIT);
  if (value == -EAGAIN && never_waits(descriptor)) return {value, false};
  if (value == -EOPNOTSUPP && never_waits(descriptor)) return {attempt(request, 0, 0), false};
  if (value == -EAGAIN || value == -EOPNOTSUPP) return {0, true};
  if (value <= 0 || static_cast<std::uint64_t>(value) == request.arguments[2])
    return {value, false};
  // Short. Of a peer's data that is an answer; of a file only at its end; of a write only if the
  // descriptor does not wait.
  if (writes ? never_waits(descriptor) : !is_regular(descriptor)) return {value, false};
  progress.bytes = static_cast<std::uint64_t>(value);
  if (writes) return {0, true};
  const std::int64_t rest = attempt(request, progress.bytes, RWF_NOWAIT);
  if (rest == 0) return {value, false};
  if (rest > 0) progress.bytes += static_cast<std::uint64_t>(rest);
  return {0, true};
}

std::int64_t transfer_waiting(const Request& request, Progress& progress,
                              Interruption interruption) {
  const auto done = static_cast<std::int64_t>(progress.bytes);
  const short events = request.number == read_number ? POLLIN : POLLOUT;
  std::int64_t rest = wait_ready(static_cast<int>(request.arguments[0]), events, interruption);
  if (rest == 0) rest = attempt(request, progress.bytes, 0);
  if (rest < 0) return done > 0 ? done : rest;
  return done + rest;
}

std::int64_t wait_ready(int descriptor, short events, Interruption interruption) {
  pollfd watched[2] = {{descriptor, events, 0}, {interruption.descriptor, POLLIN, 0}};
  while (true) {
    const int count = ::poll(watched, 2, -1);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 || watched[0].revents != 0) return 0;  // The call itself reports what is wrong.
    if (watched[1].revents != 0) return -ECANCELED;
  }
}

}  // namespace k2k::services
