#pragma once
// The calls of serve.hpp by libc, on the thread that runs the kernel: what remains of the server's
// time without K2K. The cpu backend alone. A call that waits holds the unit's other groups: it ends
// without a datagram after a moment (Server::open_sockets()), and they go on.
//
// Item 0 makes the call and all items get its answer, with the barriers that K2K's calls have.
//
// Threading: device code on the host's cores; libc, in direct.cpp, has plain functions.

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
  // A word for each of two calls in turn: an item may read an answer while item 0 makes the next
  // call.
  struct Answers {
    long values[2];
    std::uint32_t turn;
  };

  template <class Call>
  static long once(const Call& call) {
    K2K_LOCAL(Answers, answers);
    const std::uint32_t turn = answers.turn % 2;
    k2k::barrier();  // Every item has read the turn.
    if (k2k::item_rank() == 0) {
      answers.values[turn] = call();
      ++answers.turn;
    }
    k2k::barrier();
    return answers.values[turn];
  }
  static long receive(const Job& job, Seat& seat) {
    return once([&] {
      while (true) {
        const long got = libc::receive(job.socket, seat);
        if (got != libc::nothing_came()) return got;
        k2k::yield();
      }
    });
  }
  static long answer(const Job& job, const Seat& seat, std::size_t bytes) {
    return once(
        [&] { return libc::send(job.socket, seat.answer, bytes, seat.address, address_bytes); });
  }
  static long forward(const Job& job, const Seat& seat, std::size_t bytes) {
    return once([&] { return libc::send(job.inner_from, seat.address, bytes, nullptr, 0); });
  }
};

}  // namespace k2k::memcached
