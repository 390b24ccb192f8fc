#include "control/client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.hpp"
#include "control/folder.hpp"
#include "control/socket.hpp"

namespace k2k::control {

namespace {

constexpr std::size_t endpoints_max = 1024;
// Longer than a runtime needs to change all settings while it serves.
constexpr Nanoseconds longest_wait = std::chrono::seconds(5);

Error gone(const Endpoint& endpoint) {
  return {ESRCH, fmt::format("{} ended meanwhile; 'k2k ctl' lists those that run", endpoint.name)};
}

Error silent(const Endpoint& endpoint) {
  return {ETIMEDOUT,
          fmt::format("{} does not answer within {} s; is it stopped? kill -CONT {}", endpoint.name,
                      longest_wait / std::chrono::seconds(1), endpoint.process)};
}

void list_folder(const Folder& folder, std::vector<Endpoint>& found) {
  each_name(folder, [&](const char* entry) {
    if (found.size() >= endpoints_max) return false;
    const std::optional<SocketName> name = parse_name(entry);
    if (!name) return true;
    const Descriptor socket = connect_to(folder, entry);
    const std::optional<Peer> peer = socket.open() ? peer_of(socket) : std::nullopt;
    if (peer) {
      found.push_back({peer->process, peer->user, name->number, folder.path, entry});
    }
    return true;
  });
}

Descriptor reach(const Endpoint& endpoint) {
  for (const Folder& folder : folders_of(endpoint.user)) {
    if (folder.path == endpoint.folder) return connect_to(folder, endpoint.name);
  }
  errno = ENOENT;
  return Descriptor();
}

// False: `until` came first.
bool wait_for(const Descriptor& socket, short event, Instant until) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now()).count();
    pollfd one{socket.number(), event, 0};
    const int ready = left > 0 ? ::poll(&one, 1, static_cast<int>(left)) : 0;
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

Status send_all(const Descriptor& socket, std::string_view line, const Endpoint& endpoint,
                Instant until) {
  while (!line.empty()) {
    if (!wait_for(socket, POLLOUT, until)) return silent(endpoint);
    const ssize_t count =
        ::send(socket.number(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) {
      line.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EAGAIN && errno != EINTR) {
      return gone(endpoint);
    }
  }
  return {};
}

Result<std::string> receive_line(const Descriptor& socket, const Endpoint& endpoint,
                                 Instant until) {
  std::string line;
  char piece[16384];
  while (line.size() <= reply_bytes_max) {
    if (!wait_for(socket, POLLIN, until)) return silent(endpoint);
    const ssize_t count = ::recv(socket.number(), piece, sizeof(piece), MSG_DONTWAIT);
    if (count == 0) return gone(endpoint);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return gone(endpoint);
    if (count < 0) continue;
    const auto bytes = static_cast<std::size_t>(count);
    line.append(piece, bytes);
    // Only the new bytes can contain the end.
    const std::size_t end = line.find('\n', line.size() - bytes);
    if (end != std::string::npos) return line.substr(0, end);
  }
  return Error{EPROTO, fmt::format("{} answers with more than {} bytes; it is no K2K",
                                   endpoint.name, reply_bytes_max)};
}

}  // namespace

std::vector<Endpoint> endpoints() {
  std::vector<Endpoint> found;
  for (const uid_t user : visible_users()) {
    for (const Folder& folder : folders_of(user)) list_folder(folder, found);
  }
  const auto place = [](const Endpoint& one) { return std::pair(one.process, one.number); };
  std::sort(found.begin(), found.end(),
            [&](const Endpoint& a, const Endpoint& b) { return place(a) < place(b); });
  return found;
}

Result<nlohmann::ordered_json> ask(const Endpoint& endpoint, const ControlRequest& request) {
  const Descriptor socket = reach(endpoint);
  if (!socket.open()) {
    return errno == EAGAIN ? silent(endpoint) : gone(endpoint);  // EAGAIN: a full backlog.
  }
  const Instant until = now() + longest_wait;
  if (Status sent = send_all(socket, request_line(request), endpoint, until); !sent) {
    return sent.error();
  }
  const Result<std::string> line = receive_line(socket, endpoint, until);
  if (!line) return line.error();
  return parse_reply(line.value());
}

}  // namespace k2k::control
