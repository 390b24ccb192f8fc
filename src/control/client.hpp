#pragma once
// The other end of control sockets: which runtimes there are, and one question to one of them.
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
  pid_t process = 0;  // By the kernel's account, as seen from here.
  uid_t user = 0;
  std::uint32_t number = 1;
  std::string folder;
  std::string name;  // "PID", "PID-2": what people call it.
};

// All that the caller may see, by process and number; those that do not listen any more are passed
// over.
std::vector<Endpoint> endpoints();

// Errors: what parse_reply() says; ESRCH, it is gone; ETIMEDOUT, it does not answer (stopped?).
Result<nlohmann::ordered_json> ask(const Endpoint& endpoint, const ControlRequest& request);

}  // namespace k2k::control
