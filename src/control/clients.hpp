#pragma once
// The connections of a listening socket, served by the one thread that calls serve().
//
//   poll ──▶ accept ──▶ a request whole within `patience` of its begin ──▶ answer ──▶ next, or
//   closed
//                       late, too long: closed                            not taken in time: closed
//
// Nobody holds up another: clients are read, answered and written to in turn and none is waited
// for. Places are bounded. For a newer client the peer that has most of them gives one up: its
// oldest whose request is not whole. So who opens many connections and finishes none takes places
// from himself alone.
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

// For a request to come whole, from the first moment on, and for its answer to be taken.
inline constexpr Nanoseconds patience = std::chrono::seconds(2);

class Clients {
 public:
  struct Admission {
    std::int64_t peer = 0;  // Whose connections are counted together.
    std::string refusal;    // Said before it is closed; "" = admitted.
  };
  struct Rules {
    std::size_t places = 0;
    std::size_t request_bytes_max = 0;
    std::string_view end;      // Of a request.
    bool one_request = false;  // Closed behind its answer.
    std::function<Admission(const Descriptor&)> admit;
    // A request without its end; or the begin of one that is longer than permitted.
    std::function<std::string(std::string_view)> answer;
    std::string crowded_out;  // What is said to who loses his place.
  };

  // With room for all of them: serve() begins with no memory left, too.
  explicit Clients(Rules rules);
  ~Clients();

  // Until `end` is readable or `ending` is true. `socket` listens and does not wait. Where the
  // program has closed one of the two, it looks at `ending` now and then.
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
