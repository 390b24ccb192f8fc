#include "control/socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

namespace k2k::control {

namespace {

constexpr int backlog = 16;
constexpr std::size_t entries_max = 4096;  // Looked at by one sweep.

// Uses the folder's descriptor instead of its path (folder.hpp), so the address always fits.
sockaddr_un address_of(const Folder& folder, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", folder.descriptor.number(), name);
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

Descriptor stream_socket(int flags) {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
}

Descriptor failed(int code) {
  errno = code;
  return Descriptor();
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  if (text.empty() || text.front() < '1' || text.front() > '9') return false;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string text_of(const SocketName& name) {
  return name.number == 1 ? std::to_string(name.process)
                          : fmt::format("{}-{}", name.process, name.number);
}

std::optional<SocketName> parse_name(std::string_view text) {
  SocketName name;
  if (!take_number(text, name.process)) return {};
  if (text.empty()) return name;
  if (text.front() != '-') return {};
  text.remove_prefix(1);
  if (!take_number(text, name.number) || !text.empty()) return {};
  return name;
}

Descriptor listen_at(const Folder& folder, const std::string& name) {
  Descriptor socket = stream_socket(SOCK_NONBLOCK);
  if (!socket.open()) return socket;
  const sockaddr_un address = address_of(folder, name);
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(socket.number(), plain, sizeof(address)) != 0) return failed(errno);
  if (::listen(socket.number(), backlog) != 0) {
    const int code = errno;
    ::unlinkat(folder.descriptor.number(), name.c_str(), 0);
    return failed(code);
  }
  return socket;
}

Descriptor connect_to(const Folder& folder, const std::string& name) {
  // A link could lead to another user's socket.
  struct stat facts{};
  if (::fstatat(folder.descriptor.number(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    return failed(errno);
  }
  if (!S_ISSOCK(facts.st_mode)) return failed(ENOTSOCK);
  Descriptor socket = stream_socket(0);
  if (!socket.open()) return socket;
  // For a full backlog, which connect(2) would wait for.
  const timeval longest{2, 0};
  ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
  const sockaddr_un address = address_of(folder, name);
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(socket.number(), plain, sizeof(address)) != 0) return failed(errno);
  const std::optional<Peer> peer = peer_of(socket);
  if (!peer || peer->user != folder.owner) return failed(EPERM);
  return socket;
}

std::optional<Peer> peer_of(const Descriptor& socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
  return Peer{credentials.pid, credentials.uid};
}

void sweep(const Folder& folder) {
  std::size_t looked_at = 0;
  each_name(folder, [&](const char* entry) {
    if (++looked_at > entries_max) return false;
    const std::optional<SocketName> name = parse_name(entry);
    if (!name || ::kill(name->process, 0) == 0 || errno != ESRCH) return true;
    const Descriptor alive = connect_to(folder, entry);
    if (alive.open() || errno != ECONNREFUSED) return true;
    ::unlinkat(folder.descriptor.number(), entry, 0);
    return true;
  });
}

}  // namespace k2k::control
