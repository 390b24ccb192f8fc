#pragma once
// Executes one request: the system call itself, by a handler of its family.
//
// A handler may be called twice for a request. The first call does not wait: a system call that
// would wait for a peer answers `would_wait`, and has no effect. The second call follows once the
// peer's data has arrived, or waits on a thread that may be kept. A try must leave no trace except
// in `progress` (bytes of a regular file that were in the page cache already, bytes that a peer has
// taken).
//
// Threading: reentrant. Service threads block all signals but the one that ends a sleep, by which a
// waiting handler may answer EINTR.

#include <fcntl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"
#include "services/request.hpp"

namespace k2k::router {
class Files;
}

namespace k2k::services {

// What a call waits for: `descriptor` ready for `events` (poll(2)), a moment, or the earlier of
// both. Once the descriptor is ready, the handler is called again without waiting; at the moment,
// the answer is 0. None of them: only a thread that may block can complete the call.
struct Readiness {
  int descriptor = -1;
  short events = 0;
  // The call waits for any of the descriptors that its arguments name (polls.hpp), which may be
  // none, until `moment` if there is one.
  bool several = false;
  // Not 0: nothing reports when the call can go on (a listener of AF_UNIX without room). Calls with
  // the same number wait for the same thing, and are tried again in turn.
  std::uint64_t queue = 0;
  bool futex = false;  // The call waits for its own word in memory, until `moment` if there is one.
  Instant moment{};    // {}: none.

  [[nodiscard]] bool has_moment() const { return moment != Instant{}; }
  [[nodiscard]] bool exists() const {
    return descriptor >= 0 || several || queue != 0 || futex || has_moment();
  }
};

struct Answer {
  std::int64_t value = 0;   // Linux' result: >= 0 or a negative errno.
  bool would_wait = false;  // Ask again: without waiting once it is ready, or with waiting.
  Readiness readiness{};    // If it would wait.
  // If it would wait: for a disk, as short as that is. The polling thread continues to poll.
  bool keeps_role = false;
};

// State that outlives the tries of one request.
struct Progress {
  std::uint64_t bytes = 0;
  std::uint32_t tries = 0;  // Of a connect: more than one means that the connection was begun.
  // Of a wait for descriptors (polls.hpp): the end of its time, which also passes while the call
  // waits for a thread. Instant::max(): it waits without end. {}: not known.
  Instant end{};
};

// Where a waiting handler learns that the runtime ends: readable then. -1 = never.
struct Interruption {
  int descriptor = -1;
};

// Both answer ENOMEM where serving needs memory that is not available.

// Never waits for a peer or a clock, nor for the data of a regular file; may wait for a disk
// otherwise if the row says `rarely`. `files` has the file data, and is notified of closed
// descriptors.
Answer execute_without_waiting(const Request& request, Progress& progress, router::Files& files);

// True if a call that is expected to be short may block for a peer. An open of a FIFO cannot be
// recognised beforehand, but with O_NONBLOCK it does not wait.
inline bool may_sleep_at_once(const Request& request) {
  if (request.number == SYS_creat || request.number == SYS_openat2) return true;
  if (request.number != SYS_openat && request.number != SYS_open) return false;
  const std::size_t flags = request.number == SYS_openat ? 2 : 1;
  return (request.arguments[flags] & O_NONBLOCK) == 0;
}

// After which time the wait ends with EAGAIN: the socket's SO_RCVTIMEO or SO_SNDTIMEO. 0 = never.
Nanoseconds timeout_of(const Readiness& readiness);

// Waits if it must. -ECANCELED if interrupted by shutdown before the call began.
std::int64_t execute_waiting(const Request& request, Progress& progress, Interruption interruption,
                             router::Files& files);

}  // namespace k2k::services
