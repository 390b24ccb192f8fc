#pragma once
// Which user of this machine is at the other end of a TCP connection over IPv4.
//
// Unix sockets tell (SO_PEERCRED), TCP does not; the kernel's list of sockets does, by
// sock_diag(7): one question a connection, answered at once.
//
// Threading: from anywhere.

#include <sys/types.h>

#include <optional>

#include "base/descriptor.hpp"

namespace k2k::control {

// Nothing: the other end is on another machine or closed, or this kernel or container does not
// answer such questions.
std::optional<uid_t> user_of_port(const Descriptor& connection);

}  // namespace k2k::control
