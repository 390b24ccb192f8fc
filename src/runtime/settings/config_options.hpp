#pragma once
// Every setting of K2K as data: its key, kind, range, unit and help, and where it is stored.
//
// One row serves the file (device.spin_us = 20), the environment (K2K_DEVICE_SPIN_US=20), the
// command line (--device-spin-us 20), the C ABI, `k2k ctl`, libk2k_io.so and the documentation
// (docs/reference/settings.md). A new field of DeviceConfig or ServerConfig becomes a setting by
// one new row in config_options.cpp.
//
// Threading: constant data and pure functions.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "k2k/config.hpp"

namespace k2k {

enum class OptionKind : std::uint8_t {
  number,   // A whole number, least to most.
  share,    // The same in thousandths, or as "0.5%"; "off" if 0 is permitted. Shown in percent.
  boolean,  // true or false; on, off, yes, no, 1 and 0 are understood.
  choice,   // One of `words`.
  policy,   // One of `words`, the path of a file whose name ends with .toml, or its text.
  cores,    // CPU numbers such as 0,2-3; may be empty.
  text,     // Any text; the code that uses it checks it.
};

// The destination of parsed settings.
struct ConfigValues {
  RuntimeConfig config;
};

// A value of any kind, parsed and within its range.
struct OptionValue {
  std::uint64_t number = 0;  // number, share; boolean: 0 or 1; choice: the word's or position.
  std::string text;          // As shown.
  std::vector<std::uint32_t> cores;
};

struct ConfigOption {
  const char* key;  // Section and field: "device.spin_us".
  OptionKind kind;
  std::uint64_t least;  // For a number; for a text the limit of its length in bytes.
  std::uint64_t most;
  const char* words;  // choice only: "round_robin|random|adversarial".
  const char* unit;   // "" if the help text is sufficient.
  const char* help;   // One sentence.
  void (*store)(ConfigValues& values, const OptionValue& value);
  std::string (*show)(const ConfigValues& values, const ConfigOption& option);
  const char* short_name = nullptr;    // Replaces the key in the flag and the variable.
  bool changes_while_running = false;  // By `k2k ctl` (control_keys.hpp).
};

std::span<const ConfigOption> config_options();
// The row of a key, or nullptr.
const ConfigOption* find_option(std::string_view key);

// "K2K_DEVICE_SPIN_US", "--device-spin-us".
std::string environment_name(const ConfigOption& option);
std::string flag_name(const ConfigOption& option);

// An environment variable with the prefix K2K_ that is not a setting of a runtime.
struct OtherVariable {
  std::string name;
  std::string help;  // Reader and purpose, one sentence; "" for variables of the tests.

  [[nodiscard]] bool is_documented() const { return !help.empty(); }
};
std::span<const OtherVariable> other_variables();

// docs/reference/settings.md: all of this as Markdown.
std::string settings_page();

// The permitted values: "a whole number from 0 to 1000000 (microseconds)".
std::string permitted(const ConfigOption& option);

// Parses "0.5%" as 5, in steps of a thousandth up to 100%. Empty for any other text.
std::optional<std::uint64_t> permille_of(std::string_view text);
// A value in the form of show(), for programs: a share in thousandths, others unchanged.
std::string plain_value(const ConfigOption& option, const std::string& shown);

// Errors: EINVAL; the message is permitted(option), and the caller adds the place of the text.
Result<OptionValue> parse_value(const ConfigOption& option, std::string_view text);

}  // namespace k2k
