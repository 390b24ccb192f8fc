#pragma once
// All that a runtime may be told: the device, how it serves, how it is seen, how it reads files.
//
// Threading: values.

#include <string>

#include "backend/device_config.hpp"
#include "control/config.hpp"
#include "runtime/files/files.hpp"
#include "server/settings/config.hpp"

namespace k2k {

struct RuntimeConfig {
  std::string backend = "cpu";     // A name Runtime::backends() lists.
  backend::DeviceConfig device{};  // Braces, so that a caller may name the others alone.
  server::ServerConfig server{};
  control::ControlConfig control{};
  runtime::FilesConfig files{};
  // The operator's word counts more than the program's: what K2K_* variables and the configuration
  // file set replaces what stands above. False: all as it stands here, as after load_config().
  bool operator_settings = true;
};

}  // namespace k2k
