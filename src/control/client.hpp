#pragma once
// The client side of control sockets: lists the runtimes, and sends one request to one of them.
//
// Threading: from anywhere.

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/message.hpp"

namespace k2k::control {

// A runtime that answers: the n-th of its process.
struct Endpoint {
  pid_t process = 0;  // As Linux reports it, in this PID namespace.
  uid_t user = 0;
  std::uint32_t number = 1;
  std::string folder;
  std::string name;  // The name that users type: "PID", "PID-2".
};

// All runtimes that the caller may see, by process and number, without runtimes that no longer
// listen.
std::vector<Endpoint> endpoints();

// Errors: as parse_reply(); ESRCH, the runtime has ended; ETIMEDOUT, it does not answer (stopped?).
Result<nlohmann::ordered_json> ask(const Endpoint& endpoint, const ControlRequest& request);

}  // namespace k2k::control
