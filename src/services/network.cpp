#include "services/network.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <vector>

#include "base/own_descriptors.hpp"
#include "calls/pieces.hpp"
#include "services/file.hpp"
#include "services/opens/copy_in.hpp"
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

using Control = std::vector<char>;

// Does the control data of a message hand on a descriptor of K2K's own? It is read as Linux reads
// it, which refuses a message with a wrong header.
bool hands_on_own(const Control& control) {
  for (std::size_t at = 0; control.size() - at >= sizeof(cmsghdr);) {
    cmsghdr header{};
    std::memcpy(&header, control.data() + at, sizeof(header));
    if (header.cmsg_len < sizeof(header) || header.cmsg_len > control.size() - at) return false;
    if (header.cmsg_level == SOL_SOCKET && header.cmsg_type == SCM_RIGHTS) {
      for (std::size_t next = sizeof(header); next + sizeof(int) <= header.cmsg_len;
           next += sizeof(int)) {
        int descriptor = -1;
        std::memcpy(&descriptor, control.data() + at + next, sizeof(descriptor));
        if (is_own(descriptor)) return true;
      }
    }
    at += std::min(CMSG_ALIGN(header.cmsg_len), control.size() - at);
  }
  return false;
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

std::int64_t send_one(const Request& request) {
  const auto& word = request.arguments;
  calls::Message message{};
  std::deque<Control> copies;
  std::size_t bytes = 0;
  // Linux tells which error comes first.
  if (copy_in(word[1], &message, sizeof(message)) != 0)
    return raw(SYS_sendmsg, word[0], 0, word[2]);
  if (const std::int64_t refused = take_control(message, copies, bytes); refused != 0)
    return refused;
  return raw(SYS_sendmsg, word[0], &message, word[2] | MSG_NOSIGNAL);
}

// The sizes of the messages that were sent, for the caller.
std::int64_t tell_sizes(std::uint64_t address, const std::vector<calls::CountedMessage>& messages,
                        std::size_t sent) {
  constexpr std::size_t at = offsetof(calls::CountedMessage, bytes);
  for (std::size_t index = 0; index < sent; ++index) {
    const iovec here{const_cast<std::uint32_t*>(&messages[index].bytes), sizeof(std::uint32_t)};
    const iovec there{reinterpret_cast<void*>(address + index * sizeof(calls::CountedMessage) + at),
                      sizeof(std::uint32_t)};
    if (::process_vm_writev(::getpid(), &here, 1, &there, 1, 0) < 0) return -EFAULT;
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
  return request.number == SYS_sendmsg ? send_one(request) : send_many(request);
}

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
