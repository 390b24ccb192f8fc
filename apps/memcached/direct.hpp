#pragma once
// The calls of serve.hpp by libc, on the thread that runs the kernel: what remains of the server's
// time without K2K. The cpu backend alone. A call that waits holds the unit's other groups: it ends
// without a datagram after a moment (Server::open_sockets()), and they go on.
//
// Threading: device code on the host's cores; libc, in direct.cpp, has plain functions.

#include "apps/common/answered_once.hpp"
#include "apps/memcached/serve.hpp"

namespace k2k::memcached {

// recvfrom(2) and sendto(2): as Linux answers.
namespace libc {
long nothing_came();
long receive(int socket, Seat& seat);
long send(int socket, const void* bytes, std::size_t count, const void* address,
          std::size_t address_length);
}  // namespace libc

struct Direct {
  static long receive(const Job& job, Seat& seat) {
    return apps::answered_once([&] {
      while (true) {
        const long got = libc::receive(job.socket, seat);
        if (got != libc::nothing_came()) return got;
        k2k::yield();
      }
    });
  }
  static long answer(const Job& job, const Seat& seat, std::size_t bytes) {
    return apps::answered_once(
        [&] { return libc::send(job.socket, seat.answer, bytes, seat.address, address_bytes); });
  }
  static long forward(const Job& job, const Seat& seat, std::size_t bytes) {
    return apps::answered_once(
        [&] { return libc::send(job.inner_from, seat.address, bytes, nullptr, 0); });
  }
};

}  // namespace k2k::memcached
