#pragma once
// The connections of a listening socket, served by the one thread that calls serve().
//
//   poll ──▶ accept ──▶ complete request within `patience` of its begin ──▶ answer ──▶ next, or
//                       late, too long: closed             not read in time: closed    closed
//
// No client delays another: the thread reads from, answers and writes to clients in turn, and waits
// for none of them. The number of places is bounded. A new client takes a place from the peer with
// the most places: the oldest connection of that peer without a complete request is closed. So a
// peer that opens many connections and completes no request takes places only from itself.
//
// Threading: confined to one thread.

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

namespace k2k::control {

// The time for a request to arrive completely, from its first moment on, and for the client to read
// its answer.
inline constexpr Nanoseconds patience = std::chrono::seconds(2);

class Clients {
 public:
  struct Admission {
    std::int64_t peer = 0;  // Identifies the peer whose connections are counted together.
    std::string refusal;    // Sent before the connection is closed; "": admitted.
  };
  struct Rules {
    std::size_t places = 0;
    std::size_t request_bytes_max = 0;
    std::string_view end;      // The end of a request.
    bool one_request = false;  // Close after the first answer.
    std::function<Admission(const Descriptor&)> admit;
    // The argument is a request without its end, or the begin of a request that exceeds the limit.
    std::function<std::string(std::string_view)> answer;
    std::string crowded_out;  // Sent to a client that loses its place.
  };

  // Reserves memory for all clients, so that serve() also works when memory is exhausted.
  explicit Clients(Rules rules);
  ~Clients();

  // Serves until `end` is readable or `ending` is true. `socket` must listen and be non-blocking.
  // If the program closed one of the two descriptors, serve() polls `ending` periodically.
  void serve(const Descriptor& socket, const Descriptor& end, const std::atomic<bool>& ending);

 private:
  class Client;
  void go_on();
  void accept_some(const Descriptor& socket, const Descriptor& end);
  bool goes_on(Client& client) const;
  void admit(Descriptor accepted);
  void make_room();
  [[nodiscard]] int timeout_ms() const;

  const Rules rules_;
  std::vector<Client> clients_;
  std::vector<pollfd> waits_;  // The end, the socket, the clients.
};

}  // namespace k2k::control
