#pragma once
// What may be changed of a running process, by name: `k2k ctl PID cap=5%`.
//
// A key is one of the server's settings without its section; shares are percentages there, which
// the unit must be written behind: 0.5% is no half.
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

// The value in force, as it may be written.
std::string show_key(const ControlKey& key, const server::ServerConfig& config);

// All of `values` into `config`, or none. Later ones win.
// Errors: EINVAL; the key, what is permitted, and that nothing changed.
Status set_keys(std::span<const std::pair<std::string, std::string>> values,
                server::ServerConfig& config);

}  // namespace k2k
