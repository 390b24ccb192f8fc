#pragma once
// The configuration of a runtime: the device, the server, the control socket, and file access.
//
// Threading: values.

#if __cplusplus < 202002L
#error "<k2k/config.hpp> needs C++20: compile with -std=c++20"
#else

#include <cstdint>
#include <string>

#include "backend/device_config.hpp"
#include "router/door/files_options.hpp"
#include "server/settings/config.hpp"

namespace k2k::control {

// How other processes observe and control a running process.
struct ControlConfig {
  bool socket = true;              // For k2k ctl and k2k top.
  std::uint32_t metrics_port = 0;  // On 127.0.0.1, for Prometheus; 0: none.
  bool device_file = false;        // PID.device, for kernels and other processes.
};

}  // namespace k2k::control

namespace k2k::runtime {

// How file data is read and written for device code.
using FilesConfig = router::FilesOptions;

}  // namespace k2k::runtime

namespace k2k {

struct RuntimeConfig {
  std::string backend = "cpu";     // A name from Runtime::backends().
  backend::DeviceConfig device{};  // Braces, so that a caller may name only other members.
  server::ServerConfig server{};
  control::ControlConfig control{};
  runtime::FilesConfig files{};
  // The operator's settings take precedence over the program's: K2K_* variables and the
  // configuration file replace the values above. False: the values above are final.
  bool operator_settings = true;
};

}  // namespace k2k

#endif
