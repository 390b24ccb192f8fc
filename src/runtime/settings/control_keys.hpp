#pragma once
// The settings of a running process that can be changed: `k2k ctl PID cap=5%`.
//
// A key is the name of a server setting without its section. A share is a percentage and needs its
// unit: 0.5%, not 0.5.
//
// Threading: constant data and pure functions.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "server/settings/config.hpp"

namespace k2k {

struct ControlKey {
  const char* name;    // "cap"
  const char* option;  // "server.cap_permille"
  bool percent;        // Shown and read as "5%", and "off" where 0 is permitted.
  const char* help;    // What to write: "5%, or off".
};

std::span<const ControlKey> control_keys();

// "cap=", "governor=none", …: for completion.
std::vector<std::string> control_words();

// The current value, in the form that set_keys() accepts.
std::string show_key(const ControlKey& key, const server::ServerConfig& config);

// Stores all of `values` into `config`, or none. The last value of a key wins.
// Errors: EINVAL; the key, what is permitted, and that nothing changed.
Status set_keys(std::span<const std::pair<std::string, std::string>> values,
                server::ServerConfig& config);

}  // namespace k2k
