#include "services/file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <span>
#include <vector>

#include "router/door/files.hpp"
#include "services/device_call.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

constexpr std::uint16_t read_number = 0;
constexpr std::int64_t whole_file_position = -1;  // preadv2: use and move the file's own position.
constexpr std::uint64_t vector_bytes_max = 0x7ffff000;  // Linux moves no more by one call.

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

// A read or a write of any form. Of a vector, `pieces` shrink as bytes are moved.
struct Move {
  int descriptor = -1;
  bool writes = false;
  std::span<iovec> pieces;
  std::uint64_t bytes = 0;      // Of all pieces.
  std::uint64_t done = 0;       // Of these, bytes that were moved before.
  std::int64_t position = own;  // Of the first byte.
  int flags = 0;                // RWF_

  static constexpr std::int64_t own = whole_file_position;

  // `count` more bytes were moved.
  void advance(std::uint64_t count) {
    done += count;
    while (!pieces.empty() && count >= pieces.front().iov_len) {
      count -= pieces.front().iov_len;
      pieces = pieces.subspan(1);
    }
    if (pieces.empty()) return;
    pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + count;
    pieces.front().iov_len -= count;
  }
};

std::int64_t attempt_on(int descriptor, const Move& move, int flags, router::Files& files) {
  flags |= move.flags;
  router::VectorCall call{
      .descriptor = descriptor, .pieces = move.pieces, .write = move.writes, .flags = flags};
  std::int64_t position = Move::own;
  if (move.position != Move::own) {
    position = move.position + static_cast<std::int64_t>(move.done);
    call.offset = position;
  }
  if (const auto answer = files.call(call)) return *answer;
  return raw(move.writes ? SYS_pwritev2 : SYS_preadv2, static_cast<std::uint64_t>(descriptor),
             move.pieces.data(), move.pieces.size(), position, position >> 63, flags);
}

std::int64_t attempt(const Move& move, int flags, router::Files& files) {
  return attempt_on(move.descriptor, move, flags, files);
}

// Before Linux 6.4 pipes know no RWF_NOWAIT: a description of our own, opened O_NONBLOCK, does not
// wait. -EOPNOTSUPP: no pipe, or it may not be opened again.
std::int64_t attempt_on_own_description(const Move& move, router::Files& files) {
  struct stat status{};
  if (::fstat(move.descriptor, &status) != 0 || !S_ISFIFO(status.st_mode)) return -EOPNOTSUPP;
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", move.descriptor);
  const int mode = move.writes ? O_WRONLY : O_RDONLY;
  const int own = ::open(path.data(), mode | O_NONBLOCK | O_CLOEXEC);
  if (own < 0) return -EOPNOTSUPP;
  const std::int64_t value = attempt_on(own, move, 0, files);
  ::close(own);
  return value;
}

// -EOPNOTSUPP: only a call that waits can tell.
std::int64_t attempt_without_waiting(const Move& move, router::Files& files) {
  const std::int64_t value = attempt(move, RWF_NOWAIT, files);
  if (value != -EOPNOTSUPP) return value;
  if (never_waits(move.descriptor)) return attempt(move, 0, files);
  return attempt_on_own_description(move, files);
}

// Expects no write to a regular file.
Answer move_without_waiting(Move& move, Progress& progress, router::Files& files) {
  const int descriptor = move.descriptor;
  const auto done = static_cast<std::int64_t>(move.done);
  const std::int64_t value = attempt_without_waiting(move, files);
  if (value == -EOPNOTSUPP && !never_waits(descriptor)) return {0, true, {}};
  if (value == -EAGAIN && !never_waits(descriptor)) {
    if (!has_readiness(descriptor)) return {.would_wait = true, .keeps_role = true};
    return {0, true, {descriptor, static_cast<short>(move.writes ? POLLOUT : POLLIN)}};
  }
  if (value < 0) return {done > 0 ? done : value, false, {}};
  if (value == 0 || static_cast<std::uint64_t>(done + value) == move.bytes) {
    return {done + value, false, {}};
  }
  // Short. Of a peer's data that is an answer; of a file only at its end; of a write only if the
  // descriptor does not wait.
  if (move.writes ? never_waits(descriptor) : !is_regular(descriptor)) {
    return {done + value, false, {}};
  }
  progress.bytes += static_cast<std::uint64_t>(value);
  if (move.writes) return {0, true, {descriptor, POLLOUT}};
  move.advance(static_cast<std::uint64_t>(value));
  const std::int64_t rest = attempt(move, RWF_NOWAIT, files);
  if (rest == 0) return {done + value, false, {}};
  if (rest > 0) progress.bytes += static_cast<std::uint64_t>(rest);
  return {.would_wait = true, .keeps_role = true};
}

std::int64_t move_waiting(const Move& move, Interruption interruption, router::Files& files) {
  const auto done = static_cast<std::int64_t>(move.done);
  std::int64_t rest = wait_ready(move.descriptor, move.writes ? POLLOUT : POLLIN, interruption);
  if (rest == 0) rest = attempt(move, 0, files);
  if (rest < 0) return done > 0 ? done : rest;
  return done + rest;
}

// `piece` is the memory of its piece.
Move move_of(const Request& request, const Progress& progress, iovec& piece) {
  piece = {reinterpret_cast<void*>(request.arguments[1] + progress.bytes),
           request.arguments[2] - progress.bytes};
  return {.descriptor = static_cast<int>(request.arguments[0]),
          .writes = request.number != read_number,
          .pieces = {&piece, 1},
          .bytes = request.arguments[2],
          .done = progress.bytes};
}

// Nothing: Linux answers at once, because there are no pieces, or none that it takes.
std::optional<Move> move_of_vector(const Request& request, const Progress& progress,
                                   std::vector<iovec>& pieces) {
  const auto& word = request.arguments;
  const VectorForm form = form_of(request.number);
  pieces = vector_of(word[1], word[2]);
  Move move{.descriptor = static_cast<int>(word[0]), .writes = form.write, .pieces = pieces};
  if (form.has_offset) move.position = static_cast<std::int64_t>(word[3]);
  if (form.has_flags) move.flags = static_cast<int>(word[5]);
  for (iovec& piece : pieces) {
    if (static_cast<std::int64_t>(piece.iov_len) < 0) return {};
    piece.iov_len = std::min(piece.iov_len, vector_bytes_max - move.bytes);
    move.bytes += piece.iov_len;
  }
  if (move.bytes == 0 || move.position < Move::own || (move.flags & RWF_NOWAIT) != 0) return {};
  move.advance(progress.bytes);
  return move;
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
  iovec piece{};
  Move move = move_of(request, progress, piece);
  // A write to a file stays one call: split, it could interleave with another's.
  if (move.writes && is_regular(move.descriptor)) {
    const auto answer =
        files.call({.descriptor = move.descriptor, .pieces = move.pieces, .write = true});
    return {answer ? *answer : pass_on(request), false, {}};
  }
  return move_without_waiting(move, progress, files);
}

std::int64_t transfer_waiting(const Request& request, Progress& progress, Interruption interruption,
                              router::Files& files) {
  iovec piece{};
  return move_waiting(move_of(request, progress, piece), interruption, files);
}

Answer vector_without_waiting(const Request& request, Progress& progress, router::Files& files) {
  std::vector<iovec> pieces;
  auto move = move_of_vector(request, progress, pieces);
  const bool whole = !move || (move->writes && is_regular(move->descriptor));
  if (!whole) return move_without_waiting(*move, progress, files);
  const auto answer = vector_call(request, files);
  return {.value = answer ? *answer : pass_on(request)};
}

std::int64_t vector_waiting(const Request& request, Progress& progress, Interruption interruption,
                            router::Files& files) {
  std::vector<iovec> pieces;
  const auto move = move_of_vector(request, progress, pieces);
  if (move) return move_waiting(*move, interruption, files);
  const auto answer = vector_call(request, files);
  return answer ? *answer : pass_on(request);
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
