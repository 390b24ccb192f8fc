#pragma once
// Unix stream sockets in an open folder, by name.
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

// Returns a closed descriptor, with errno set, on failure. EADDRINUSE: a file of that name exists.
Descriptor listen_at(const Folder& folder, const std::string& name);
// As listen_at(). ECONNREFUSED: no process listens any more. EPERM: the peer is not the folder's
// owner.
Descriptor connect_to(const Folder& folder, const std::string& name);

struct Peer {
  pid_t process = 0;
  uid_t user = 0;
};
std::optional<Peer> peer_of(const Descriptor& socket);

// Removes the sockets of dead processes: no such process exists, and no process listens. Both are
// checked, because the number may belong to another PID namespace.
void sweep(const Folder& folder);

}  // namespace k2k::control
