#pragma once
// Debian's memcached as a process of its own, to compare with.
//
// Threading: one thread.

#include <sys/types.h>

#include <cstdint>

#include "apps/memcached/client.hpp"

namespace k2k::memcached {

// A UDP port of the loopback address that was free a moment ago; 0: none.
std::uint32_t free_port();

// Ends memcached in its destructor.
class Peer {
 public:
  // Serves UDP at this port. If memcached is not installed, runs() is false.
  explicit Peer(std::uint32_t port);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] bool runs() const { return child_ > 0; }
  // Waits, for two seconds at most, until it answers the client.
  static bool answers(Client& client);

 private:
  pid_t child_ = -1;
};

}  // namespace k2k::memcached
