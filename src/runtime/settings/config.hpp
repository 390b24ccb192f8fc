#pragma once
// Loads settings from their sources, flag > environment > file > default, and records each one's
// source.
//
//   flag         --device-spin-us 20
//   environment  K2K_DEVICE_SPIN_US=20
//   file         [device] spin_us = 20    TOML; --config, else K2K_CONFIG, else
//                                         $XDG_CONFIG_HOME/k2k/config.toml, else ~/.config/k2k/…
//   default      the initialisers of DeviceConfig and ServerConfig
//
// Environment and flags are arguments, so that tests can vary them. Runtime::create() passes the
// process's own, unless operator_settings is false. Every mistake is an error that names the place,
// the key, the value and the permitted values.
//
// Threading: pure functions, except where noted.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "k2k/config.hpp"
#include "runtime/settings/config_options.hpp"

namespace k2k {

// One value set by the program: a flag of the command line, an option of the C ABI.
struct Assignment {
  std::string key;     // "device.spin_us"
  std::string value;   // "20"
  std::string origin;  // "flag --device-spin-us"; shown unchanged.
};

struct ConfigInputs {
  std::vector<std::pair<std::string, std::string>> environment;  // Name and value.
  std::vector<Assignment> flags;                                 // The last one of a key wins.
  std::optional<std::string> file;                               // --config; "" = no file.
};

struct Setting {
  std::string key;
  std::string value;
  std::string origin;  // "default", "environment K2K_...", "file PATH:LINE", "flag --..."
};

struct LoadedConfig {
  RuntimeConfig config;
  std::string path;  // Of the file, read or not; "" if no folder is known for one.
  bool file_read = false;
  std::vector<Setting> settings;  // Every option, in the order of config_options().
};

// The environment of this process. Not while another thread calls setenv().
ConfigInputs process_inputs();

// The configuration file that these inputs name; "" if none. Does not check whether it exists.
std::string config_path(const ConfigInputs& inputs);

// Errors, each with one line that gives the place, the mistake, and the permitted values:
//   EINVAL  an unknown key or variable, a wrong type, a value out of range, malformed TOML, a FIFO
//   ENOENT  the file named by --config or K2K_CONFIG is missing; others of open() and read()
//   EFBIG   the file is larger than 1 MiB
// The result is complete: Runtime::create() adds nothing to it.
Result<LoadedConfig> load_config(const ConfigInputs& inputs);

// Overrides `config` with the values of environment, file and flags. Errors: as load_config(); then
// `config` is unchanged.
Status apply_operator_settings(RuntimeConfig& config, const ConfigInputs& inputs);

}  // namespace k2k
