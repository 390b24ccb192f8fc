// Sockets: those of the sandbox, which have names below its root or none.

#include <sys/socket.h>

#include "cli/verify/case.hpp"

namespace k2k::cli::verify {

std::vector<Case> network_cases() {
  return {
      {SYS_socket,
       "a stream",
       {number(AF_UNIX), number(SOCK_STREAM), number(0)},
       Answer::descriptor},
      {SYS_socket,
       "of the Internet",
       {number(AF_INET), number(SOCK_DGRAM | SOCK_CLOEXEC), number(0)},
       Answer::descriptor},
      {SYS_socket, "of no family", {number(9999), number(SOCK_STREAM), number(0)}},
      {SYS_sendto,
       "on a stream",
       {object(Object::stream), bytes("hello"), number(5), number(0), null(), number(0)}},
      {SYS_sendto,
       "on a file",
       {object(Object::file), bytes("hello"), number(5), number(0), null(), number(0)}},
      {SYS_sendto,
       "on a socket without a peer",
       {object(Object::unbound), bytes("hello"), number(5), number(0), null(), number(0)}},
      {SYS_recvfrom,
       "from a stream",
       {object(Object::stream), space(16), number(16), number(0), null(), null()}},
      {SYS_recvfrom,
       "a datagram and its address",
       {object(Object::datagram), space(16), number(16), number(0), space(110),
        structure(std::uint32_t{110})},
       Answer::exact,
       {},
       false},  // Without a size the buffer's reach is not known: EFAULT first.
      {SYS_recvfrom,
       "of an idle socket",
       {object(Object::stream_peer), space(16), number(16), number(0), null(), null()}},
      {SYS_shutdown, "a stream", {object(Object::stream), number(SHUT_WR)}},
      {SYS_shutdown, "in no way", {object(Object::stream), number(9)}},
      {SYS_listen, "again", {object(Object::listener), number(8)}},
      {SYS_listen, "without a name", {object(Object::unbound), number(8)}},
  };
}

}  // namespace k2k::cli::verify
