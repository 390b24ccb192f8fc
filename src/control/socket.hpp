#pragma once
// Stream sockets of Unix in an open folder, by name.
//
// Threading: from anywhere.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "control/folder.hpp"

namespace k2k::control {

// "PID" or "PID-2".
struct SocketName {
  pid_t process = 0;
  std::uint32_t number = 1;
};
std::string text_of(const SocketName& name);
std::optional<SocketName> parse_name(std::string_view text);

// Not open, with errno set, on failure. EADDRINUSE: there is a file of that name.
Descriptor listen_at(const Folder& folder, const std::string& name);
// Likewise. ECONNREFUSED: nobody listens any more. The peer belongs to the folder's owner (EPERM).
Descriptor connect_to(const Folder& folder, const std::string& name);

struct Peer {
  pid_t process = 0;
  uid_t user = 0;
};
std::optional<Peer> peer_of(const Descriptor& socket);

// Removes the sockets of processes that are gone: no such process, and nobody listens. Both are
// asked, since the number may be one of another PID namespace.
void sweep(const Folder& folder);

}  // namespace k2k::control
