#include "apps/memcached/direct.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace k2k::memcached::libc {

long nothing_came() { return -EAGAIN; }

long receive(int socket, Seat& seat) {
  socklen_t length = seat.address_length;
  const ssize_t got = ::recvfrom(socket, seat.request, sizeof(seat.request), 0,
                                 reinterpret_cast<sockaddr*>(seat.address), &length);
  seat.address_length = length;
  return got < 0 ? -errno : got;
}

long send(int socket, const void* bytes, std::size_t count, const void* address,
          std::size_t address_length) {
  const ssize_t sent = ::sendto(socket, bytes, count, 0, static_cast<const sockaddr*>(address),
                                static_cast<socklen_t>(address_length));
  return sent < 0 ? -errno : sent;
}

}  // namespace k2k::memcached::libc
