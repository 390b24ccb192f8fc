// Sockets: those of the sandbox, which have names below its root or none.

#include <sys/socket.h>

#include <cstddef>
#include <cstring>
#include <ctime>
#include <utility>

#include "cli/verify/case.hpp"
#include "cli/verify/cases/ignored.hpp"

namespace k2k::cli::verify {

namespace {

// A msghdr. No name where `name` is not a buffer.
Argument message(const Argument& name, Argument vector, const Argument& control,
                 std::uint64_t too_many = 0) {
  msghdr header{};
  header.msg_namelen = static_cast<socklen_t>(name.bytes.size());
  header.msg_iovlen = too_many != 0 ? too_many : vector.bytes.size() / 16;
  header.msg_controllen = control.bytes.size();
  Argument all = structure(header);
  if (is_buffer(name)) all.parts.push_back({offsetof(msghdr, msg_name), name});
  if (is_buffer(vector)) all.parts.push_back({offsetof(msghdr, msg_iov), std::move(vector)});
  if (is_buffer(control)) all.parts.push_back({offsetof(msghdr, msg_control), control});
  return all;
}
// mmsghdr, one behind the other.
Argument messages(const std::vector<Argument>& each) {
  Argument all = bytes("");
  for (const Argument& one : each) {
    const std::size_t at = all.bytes.size();
    all.bytes += one.bytes + std::string(8, untouched);
    for (Part part : one.parts) {
      part.offset += at;
      all.parts.push_back(std::move(part));
    }
  }
  return all;
}
// Control data that hands a descriptor on.
Argument handed_on(const Argument& descriptor) {
  Argument control = space(CMSG_SPACE(sizeof(int)));
  const cmsghdr header{CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  std::memcpy(control.bytes.data(), &header, sizeof(header));
  if (descriptor.kind == Argument::Kind::object) {
    control.parts.push_back({CMSG_LEN(0), descriptor});
  } else {
    std::memcpy(control.bytes.data() + CMSG_LEN(0), &descriptor.number, sizeof(int));
  }
  return control;
}
Argument short_control() {
  const cmsghdr header{3, SOL_SOCKET, SCM_RIGHTS};
  return structure(header);
}

}  // namespace

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

      {SYS_connect,
       "a listener",
       {object(Object::unbound), unix_address("listener"), number(unix_address_bytes)}},
      {SYS_connect,
       "nobody",
       {object(Object::unbound), unix_address("absent"), number(unix_address_bytes)}},
      {SYS_connect,
       "less than nothing",
       {object(Object::unbound), unix_address("listener"), number(-1)}},
      {SYS_accept,
       "a connection and its address",
       {object(Object::listener), space(110), structure(std::uint32_t{110})},
       Answer::descriptor},
      {SYS_accept,
       "a connection alone",
       {object(Object::listener), null(), null()},
       Answer::descriptor},
      {SYS_accept, "of what does not listen", {object(Object::stream), null(), null()}},
      {SYS_bind,
       "a name",
       {object(Object::unbound), unix_address("bound"), number(unix_address_bytes)}},
      {SYS_bind,
       "an existing name",
       {object(Object::unbound), unix_address("file"), number(unix_address_bytes)}},
      {SYS_getsockname,
       "a listener",
       {object(Object::listener), space(110), structure(std::uint32_t{110})}},
      {SYS_getsockname,
       "a part",
       {object(Object::listener), space(110), structure(std::uint32_t{5})}},
      {SYS_getsockname,
       "nothing of it",
       {object(Object::listener), space(110), structure(std::uint32_t{0})}},
      {SYS_getsockname,
       "a file",
       {object(Object::file), space(110), structure(std::uint32_t{110})}},
      {SYS_getpeername,
       "a stream",
       {object(Object::stream), space(110), structure(std::uint32_t{110})}},
      {SYS_getpeername,
       "without a peer",
       {object(Object::unbound), space(110), structure(std::uint32_t{0})}},
      {SYS_socketpair,
       "of streams",
       {number(AF_UNIX), number(SOCK_STREAM | SOCK_CLOEXEC), number(0), descriptors(2)}},
      {SYS_socketpair,
       "of the Internet",
       {number(AF_INET), number(SOCK_STREAM), number(0), descriptors(2)},
       Answer::exact,
       all_of(3, 8)},
      {SYS_setsockopt,
       "to pass identities",
       {object(Object::stream), number(SOL_SOCKET), number(SO_PASSCRED), structure(1),
        number(sizeof(int))}},
      {SYS_setsockopt,
       "with too few bytes",
       {object(Object::stream), number(SOL_SOCKET), number(SO_PASSCRED), structure(1), number(1)}},
      {SYS_setsockopt,
       "with less than no bytes",
       {object(Object::stream), number(SOL_SOCKET), number(SO_PASSCRED), structure(1), number(-1)}},
      {SYS_getsockopt,
       "the type",
       {object(Object::stream), number(SOL_SOCKET), number(SO_TYPE), space(4),
        structure(std::uint32_t{4})}},
      {SYS_getsockopt,
       "the peer",
       {object(Object::stream), number(SOL_SOCKET), number(SO_PEERCRED), space(64),
        structure(std::uint32_t{64})}},
      {SYS_getsockopt,
       "nothing of it",
       {object(Object::stream), number(SOL_SOCKET), number(SO_TYPE), space(4),
        structure(std::uint32_t{0})}},
      {SYS_getsockopt,
       "no option",
       {object(Object::stream), number(SOL_SOCKET), number(9999), space(4),
        structure(std::uint32_t{4})}},
      {SYS_sethostname, "of less than no bytes", {bytes("name"), number(-1)}},
      {SYS_sethostname, "of too many bytes", {space(100), number(100)}},
      {SYS_setdomainname, "of less than no bytes", {bytes("name"), number(-1)}},
      {SYS_setdomainname, "of too many bytes", {space(100), number(100)}},
      {SYS_accept4,
       "a connection",
       {object(Object::listener), null(), null(), number(SOCK_CLOEXEC | SOCK_NONBLOCK)},
       Answer::descriptor},
      {SYS_accept4, "a wrong flag", {object(Object::listener), null(), null(), number(1)}},
      {SYS_sendmsg,
       "two pieces on a stream",
       {object(Object::stream), message(null(), vector_of({bytes("hel"), bytes("lo")}), null()),
        number(0)}},
      {SYS_sendmsg,
       "a descriptor",
       {object(Object::stream),
        message(null(), vector_of({bytes("x")}), handed_on(object(Object::other))), number(0)}},
      {SYS_sendmsg,
       "no descriptor",
       {object(Object::stream), message(null(), vector_of({bytes("x")}), handed_on(number(-1))),
        number(0)}},
      {SYS_sendmsg,
       "control data without a header",
       {object(Object::stream), message(null(), vector_of({bytes("x")}), short_control()),
        number(0)}},
      {SYS_sendmsg,
       "to a name that is absent",
       {object(Object::datagram), message(unix_address("absent"), vector_of({bytes("x")}), null()),
        number(0)}},
      {SYS_sendmsg,
       "of too many pieces",
       {object(Object::stream), message(null(), vector_of({bytes("x")}), null(), 1025), number(0)}},
      {SYS_sendmsg,
       "from null",
       {object(Object::stream), message(null(), vector_at(null(), 4), null()), number(0)}},
      {SYS_sendmsg,
       "on a file",
       {object(Object::file), message(null(), vector_of({bytes("x")}), null()), number(0)}},
      {SYS_recvmsg,
       "into two pieces",
       {object(Object::stream), message(null(), vector_of({space(3), space(16)}), null()),
        number(0)}},
      {SYS_recvmsg,
       "a part of a datagram, and its address",
       {object(Object::datagram), message(space(110), vector_of({space(3)}), space(64)),
        number(0)}},
      {SYS_recvmsg,
       "the length of a datagram",
       {object(Object::datagram), message(null(), vector_of({space(3)}), null()),
        number(MSG_TRUNC)}},
      {SYS_recvmsg,
       "of an idle socket",
       {object(Object::stream_peer), message(null(), vector_of({space(3)}), null()), number(0)}},
      {SYS_recvmsg,
       "of too many pieces",
       {object(Object::stream), message(null(), vector_of({space(3)}), null(), 1025), number(0)}},
      {SYS_recvmmsg,
       "one, although two are wanted",
       {object(Object::datagram),
        messages({message(space(110), vector_of({space(4), space(16)}), space(32)),
                  message(null(), vector_of({space(8)}), null())}),
        number(2), number(0), null()}},
      {SYS_recvmmsg,
       "none",
       {object(Object::datagram), messages({message(null(), vector_of({space(8)}), null())}),
        number(0), number(0), null()}},
      {SYS_recvmmsg,
       "with a wrong timeout",
       {object(Object::datagram), messages({message(null(), vector_of({space(8)}), null())}),
        number(1), number(0), structure(timespec{0, -1})}},
      {SYS_sendmmsg,
       "two",
       {object(Object::datagram_peer),
        messages({message(null(), vector_of({bytes("one")}), null()),
                  message(null(), vector_of({bytes("t"), bytes("wo")}), null())}),
        number(2), number(0)}},
      {SYS_sendmmsg,
       "of which the second fails",
       {object(Object::datagram_peer),
        messages({message(null(), vector_of({bytes("one")}), null()),
                  message(null(), vector_at(null(), 4), null())}),
        number(2), number(0)}},
  };
}

}  // namespace k2k::cli::verify
