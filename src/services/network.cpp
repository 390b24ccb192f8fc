#include "services/network.hpp"

#include <poll.h>
#include <sys/socket.h>

#include "services/file.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

constexpr std::uint16_t sendto_number = 44;

// The caller itself asked not to wait, by flag or by descriptor: EAGAIN is its answer.
bool wants_no_waiting(const Request& request) {
  return (request.arguments[3] & MSG_DONTWAIT) != 0 ||
         never_waits(static_cast<int>(request.arguments[0]));
}

// A broken connection answers EPIPE: no work-item has a use for a SIGPIPE.
std::int64_t message(const Request& request, std::uint64_t done, std::uint64_t extra_flags) {
  Request adjusted = request;
  adjusted.arguments[1] += done;
  adjusted.arguments[2] -= done;
  adjusted.arguments[3] |= extra_flags;
  if (request.number == sendto_number) adjusted.arguments[3] |= MSG_NOSIGNAL;
  return pass_on(adjusted);
}

}  // namespace

Answer message_without_waiting(const Request& request, Progress& progress) {
  // MSG_WAITALL wants all or nothing, which a first try cannot promise.
  if ((request.arguments[3] & MSG_WAITALL) != 0 && !wants_no_waiting(request)) return {0, true, {}};
  const auto done = static_cast<std::int64_t>(progress.bytes);
  const std::int64_t value = message(request, progress.bytes, MSG_DONTWAIT);
  const bool sends = request.number == sendto_number;
  // A stream took a part; a waiting send takes all.
  const bool part =
      sends && value > 0 && static_cast<std::uint64_t>(done + value) < request.arguments[2];
  if (part) progress.bytes += static_cast<std::uint64_t>(value);
  if ((value == -EAGAIN || part) && !wants_no_waiting(request)) {
    return {0,
            true,
            {static_cast<int>(request.arguments[0]), static_cast<short>(sends ? POLLOUT : POLLIN)}};
  }
  if (value < 0) return {done > 0 ? done : value, false, {}};
  return {done + value, false, {}};
}

std::int64_t message_waiting(const Request& request, Progress& progress,
                             Interruption interruption) {
  const auto done = static_cast<std::int64_t>(progress.bytes);
  const short events = request.number == sendto_number ? POLLOUT : POLLIN;
  std::int64_t rest = wait_ready(static_cast<int>(request.arguments[0]), events, interruption);
  if (rest == 0) rest = message(request, progress.bytes, 0);
  if (rest < 0) return done > 0 ? done : rest;
  return done + rest;
}

}  // namespace k2k::services
