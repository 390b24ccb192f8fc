#include "services/network.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/own_descriptors.hpp"
#include "calls/pieces.hpp"
#include "services/file.hpp"
#include "services/nested.hpp"
#include "services/opens/copy_in.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

bool sends(const Request& request) {
  return request.number == SYS_sendto || request.number == SYS_sendmsg;
}
bool is_structured(const Request& request) {
  return request.number == SYS_sendmsg || request.number == SYS_recvmsg;
}
std::size_t flags_place(const Request& request) { return is_structured(request) ? 2 : 3; }

int option_of(int descriptor, int option) {
  int value = -1;
  socklen_t bytes = sizeof(value);
  return ::getsockopt(descriptor, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

// The caller itself asked not to wait, by flag or by descriptor: EAGAIN is its answer. Errors of an
// internet socket and urgent data are there or not.
bool wants_no_waiting(const Request& request) {
  const auto descriptor = static_cast<int>(request.arguments[0]);
  const std::uint64_t flags = request.arguments[flags_place(request)];
  if ((flags & MSG_DONTWAIT) != 0 || never_waits(descriptor)) return true;
  if (sends(request) || (flags & (MSG_ERRQUEUE | MSG_OOB)) == 0) return false;
  const int domain = option_of(descriptor, SO_DOMAIN);
  return domain == AF_INET || domain == AF_INET6;
}

// A broken connection answers EPIPE: no work-item has a use for a SIGPIPE.
std::int64_t message(const Request& request, std::uint64_t done, std::uint64_t extra_flags) {
  Request adjusted = request;
  adjusted.arguments[flags_place(request)] |= extra_flags;
  if (is_structured(request)) return pass_on(adjusted);
  adjusted.arguments[1] += done;
  adjusted.arguments[2] -= done;
  if (sends(request)) adjusted.arguments[3] |= MSG_NOSIGNAL;
  return pass_on(adjusted);
}

using Control = std::vector<char>;

// Does the control data of a message hand on a descriptor of K2K's own?
bool hands_on_own(const Control& control) {
  return for_each_control(control, [&](const cmsghdr& header, std::size_t content) {
           if (header.cmsg_level != SOL_SOCKET || header.cmsg_type != SCM_RIGHTS) return 0;
           const std::size_t end = content - sizeof(header) + header.cmsg_len;
           for (std::size_t at = content; at + sizeof(int) <= end; at += sizeof(int)) {
             int descriptor = -1;
             std::memcpy(&descriptor, control.data() + at, sizeof(descriptor));
             if (is_own(descriptor)) return 1;
           }
           return 0;
         }) != 0;
}

// Lets the message have a copy of its control data, which `copies` keeps. 0 or a negative errno.
std::int64_t take_control(calls::Message& message, std::deque<Control>& copies,
                          std::size_t& bytes) {
  if (message.control == 0 || message.control_bytes == 0) return 0;
  if (message.control_bytes > control_bytes_max - bytes) return -ENOBUFS;
  bytes += message.control_bytes;
  Control& control = copies.emplace_back(message.control_bytes);
  if (copy_in(message.control, control.data(), control.size()) != 0) return -EFAULT;
  if (hands_on_own(control)) return -EBADF;
  message.control = reinterpret_cast<std::uint64_t>(control.data());
  return 0;
}

// The pieces of a message, without the first `done` bytes. The bytes of all of them; nothing if
// Linux is to look at them itself.
std::optional<std::uint64_t> take_pieces(calls::Message& message, std::uint64_t done,
                                         std::vector<calls::Piece>& pieces) {
  if (message.piece_count > calls::pieces_max) return {};
  pieces.resize(message.piece_count);
  const std::size_t bytes = pieces.size() * sizeof(calls::Piece);
  if (!pieces.empty() && copy_in(message.pieces, pieces.data(), bytes) != 0) return {};
  std::uint64_t total = 0;
  for (calls::Piece& piece : pieces) {
    if (piece.bytes > std::uint64_t{1} << 40) return {};
    total += piece.bytes;
    const std::uint64_t skipped = std::min(done, piece.bytes);
    piece.address += skipped;
    piece.bytes -= skipped;
    done -= skipped;
  }
  message.pieces = reinterpret_cast<std::uint64_t>(pieces.data());
  return total;
}

struct Sent {
  std::int64_t value = 0;
  std::uint64_t total = ~std::uint64_t{0};  // Bytes of the message; all bits: not known.
};

// Control data goes with the first bytes of a message.
Sent send_one(const Request& request, std::uint64_t done, std::uint64_t extra_flags) {
  const auto& word = request.arguments;
  calls::Message message{};
  std::deque<Control> copies;
  std::vector<calls::Piece> pieces;
  std::size_t bytes = 0;
  // Linux tells which error comes first.
  if (copy_in(word[1], &message, sizeof(message)) != 0)
    return {raw(SYS_sendmsg, word[0], 0, word[2])};
  if (done != 0) message.control = message.control_bytes = 0;
  if (const std::int64_t refused = take_control(message, copies, bytes); refused != 0)
    return {refused};
  const auto total = take_pieces(message, done, pieces);
  const std::int64_t value =
      raw(SYS_sendmsg, word[0], &message, word[2] | MSG_NOSIGNAL | extra_flags);
  return total ? Sent{value, *total} : Sent{value};
}

// The value, and the bytes that the whole call would move.
Sent message_once(const Request& request, std::uint64_t done, std::uint64_t extra_flags) {
  if (request.number == SYS_sendmsg) return send_one(request, done, extra_flags);
  return {message(request, done, extra_flags), sends(request) ? request.arguments[2] : 0};
}

// The sizes of the messages that were sent, for the caller.
std::int64_t tell_sizes(std::uint64_t address, const std::vector<calls::CountedMessage>& messages,
                        std::size_t sent) {
  constexpr std::size_t at = offsetof(calls::CountedMessage, bytes);
  for (std::size_t index = 0; index < sent; ++index) {
    const std::uint64_t place = address + index * sizeof(calls::CountedMessage) + at;
    if (copy_out(place, &messages[index].bytes, sizeof(std::uint32_t)) != 0) return -EFAULT;
  }
  return 0;
}

std::int64_t send_many(const Request& request) {
  const auto& word = request.arguments;
  // Linux sends no more of them.
  const auto count =
      std::min<std::uint64_t>(static_cast<std::uint32_t>(word[2]), calls::pieces_max);
  std::vector<calls::CountedMessage> messages(count);
  std::deque<Control> copies;
  std::size_t bytes = 0;
  if (count != 0 && copy_in(word[1], messages.data(), count * sizeof(messages[0])) != 0) {
    return raw(SYS_sendmmsg, word[0], 0, count, word[3]);
  }
  for (calls::CountedMessage& each : messages) {
    if (const std::int64_t refused = take_control(each.message, copies, bytes); refused != 0)
      return refused;
  }
  const std::int64_t sent =
      raw(SYS_sendmmsg, word[0], messages.data(), count, word[3] | MSG_NOSIGNAL);
  if (sent <= 0) return sent;
  const std::int64_t told = tell_sizes(word[1], messages, static_cast<std::size_t>(sent));
  return told != 0 ? told : sent;
}

}  // namespace

std::int64_t send_messages(const Request& request) {
  return request.number == SYS_sendmsg ? send_one(request, 0, 0).value : send_many(request);
}

// -- connections ----------------------------------------------------------------------------------

namespace {

// FNV-1a. Not 0.
std::uint64_t hash_of(const unsigned char* bytes, std::size_t count) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t at = 0; at < count; ++at) hash = (hash ^ bytes[at]) * 0x100000001b3;
  return hash | 1;
}

// Calls with one address wait for one listener.
std::uint64_t queue_of(const Request& request) {
  unsigned char name[sizeof(sockaddr_storage)];
  const std::size_t bytes = std::min<std::size_t>(request.arguments[2], sizeof(name));
  return copy_in(request.arguments[1], name, bytes) == 0 ? hash_of(name, bytes) : 1;
}

// What the call could wait for. Nothing: it does not wait. No readiness: only a thread that may
// block can make it.
std::optional<Answer> wait_of_connect(const Request& request) {
  const auto descriptor = static_cast<int>(request.arguments[0]);
  const int type = option_of(descriptor, SO_TYPE);
  const bool has_peer = type == SOCK_STREAM || type == SOCK_SEQPACKET;
  if (!has_peer || never_waits(descriptor)) return {};
  Answer wait{.would_wait = true};
  const int domain = option_of(descriptor, SO_DOMAIN);
  if (domain == AF_UNIX) {
    wait.readiness.queue = queue_of(request);
    const Nanoseconds limit = timeout_of({.descriptor = descriptor, .events = POLLOUT});
    if (limit != Nanoseconds::zero()) wait.readiness.moment = now() + limit;
  } else if ((domain == AF_INET || domain == AF_INET6) &&
             option_of(descriptor, SO_PROTOCOL) == IPPROTO_TCP) {
    sockaddr_storage peer{};
    socklen_t bytes = sizeof(peer);
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0) return {};
    wait.readiness = {.descriptor = descriptor, .events = POLLOUT};
  }
  return wait;
}

// A call that was not connected at its first try. Of AF_UNIX, an earlier call that a signal ended
// has done nothing. Of TCP, it has begun the connection, and so may have another thread: the
// connection is this call's, too. EALREADY: the timeout of the socket ended a call that had begun.
std::int64_t connect_now(const Request& request, bool begun) {
  const std::int64_t value = pass_on(request);
  const bool is_progress = value == -EISCONN || (value == -EALREADY && begun);
  if (!is_progress || option_of(static_cast<int>(request.arguments[0]), SO_DOMAIN) == AF_UNIX)
    return value;
  return value == -EISCONN ? 0 : -EINPROGRESS;
}

}  // namespace

Answer connect_without_waiting(const Request& request, Progress& progress) {
  const std::uint32_t tries = progress.tries++;
  if (tries == 0) {
    const auto wait = wait_of_connect(request);
    return wait ? *wait : Answer{.value = pass_on(request)};
  }
  return {.value = connect_now(request, tries > 1)};
}

std::int64_t connect_waiting(const Request& request, const Progress& progress) {
  return connect_now(request, progress.tries > 1);
}

// -- plain messages -------------------------------------------------------------------------------

Answer message_without_waiting(const Request& request, Progress& progress) {
  const std::uint64_t flags = request.arguments[flags_place(request)];
  // MSG_WAITALL wants all or nothing, which a first try cannot promise.
  if ((flags & MSG_WAITALL) != 0 && !wants_no_waiting(request)) return {0, true, {}};
  const auto done = static_cast<std::int64_t>(progress.bytes);
  const Sent sent = message_once(request, progress.bytes, MSG_DONTWAIT);
  const std::int64_t value = sent.value;
  // A stream took a part; a waiting send takes all.
  const bool part = sends(request) && value > 0 && sent.total != ~std::uint64_t{0} &&
                    static_cast<std::uint64_t>(done + value) < sent.total;
  if (part) progress.bytes += static_cast<std::uint64_t>(value);
  if ((value == -EAGAIN || part) && !wants_no_waiting(request)) {
    return {0,
            true,
            {static_cast<int>(request.arguments[0]),
             static_cast<short>(sends(request) ? POLLOUT : POLLIN)}};
  }
  if (value < 0) return {done > 0 ? done : value, false, {}};
  return {done + value, false, {}};
}

std::int64_t message_waiting(const Request& request, Progress& progress,
                             Interruption interruption) {
  const auto done = static_cast<std::int64_t>(progress.bytes);
  const short events = sends(request) ? POLLOUT : POLLIN;
  std::int64_t rest = 0;
  // What does not wait need not be ready.
  if (!wants_no_waiting(request))
    rest = wait_ready(static_cast<int>(request.arguments[0]), events, interruption);
  if (rest == 0) rest = message_once(request, progress.bytes, 0).value;
  if (rest < 0) return done > 0 ? done : rest;
  return done + rest;
}

}  // namespace k2k::services
