#pragma once
// The settings of a running process that can be changed: `k2k ctl PID cap=5%`.
//
// A key is the name of a server setting without its section; the settings' table says which
// (config_options.hpp). A share is a percentage and needs its unit: 0.5%, not 0.5.
//
// Threading: constant data and pure functions.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "runtime/settings/config_options.hpp"
#include "server/settings/config.hpp"

namespace k2k {

struct ControlKey {
  std::string name;            // "cap"
  const ConfigOption* option;  // Of "server.cap_permille"; a share is shown and read as "5%".
};

std::span<const ControlKey> control_keys();

// For completion: "cap=", "governor=none", …
std::vector<std::string> control_words();

// The current value, in the form that set_keys() accepts.
std::string show_key(const ControlKey& key, const server::ServerConfig& config);

// Stores all of `values` into `config`, or none. The last value of a key wins.
// Errors: EINVAL; the message names the key and the permitted values, and that nothing changed.
Status set_keys(std::span<const std::pair<std::string, std::string>> values,
                server::ServerConfig& config);

}  // namespace k2k
