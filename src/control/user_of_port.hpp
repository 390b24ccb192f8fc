#pragma once
// The user of this machine at the other end of an IPv4 TCP connection.
//
// Unix sockets provide it (SO_PEERCRED), TCP does not; Linux' list of sockets does, by
// sock_diag(7): one query per connection, answered at once.
//
// Threading: from anywhere.

#include <sys/types.h>

#include <optional>

#include "base/descriptor.hpp"

namespace k2k::control {

// Empty if the other end is on another machine or closed, or if this kernel or container does not
// answer such queries.
std::optional<uid_t> user_of_port(const Descriptor& connection);

}  // namespace k2k::control
