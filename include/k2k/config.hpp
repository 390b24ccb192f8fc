#pragma once
// All that a runtime may be told: the device, how it serves, how it is seen, how it reads files.
//
// Threading: values.

#if __cplusplus < 202002L
#error "<k2k/config.hpp> needs C++20: compile with -std=c++20"
#else

#include <cstdint>
#include <string>

#include "backend/device_config.hpp"
#include "server/settings/config.hpp"

namespace k2k::control {

// How a running process is seen and steered from outside.
struct ControlConfig {
  bool socket = true;              // For k2k ctl and k2k top.
  std::uint32_t metrics_port = 0;  // Of 127.0.0.1, for Prometheus; 0 = none.
};

}  // namespace k2k::control

namespace k2k::runtime {

// How file data is read and written for device code.
struct FilesConfig {
  // automatic: within the bound where that costs nothing, that is, where the operating system's own
  // windows fit into it. bounded: everywhere, elsewhere in smaller windows.
  enum class ReadAhead : std::uint8_t { automatic, bounded };

  bool router = true;  // Reads of 16 KiB and more by the fastest mix of page cache and O_DIRECT.
  ReadAhead read_ahead = ReadAhead::automatic;
  // The bound: what may be in the page cache only because it was read ahead for kernels, 4 KiB
  // each. 0: as conservative.
  std::uint32_t read_ahead_pages = 2048;
  // The operating system reads ahead as it likes, and nothing is evicted.
  bool conservative = false;
  // While a kernel writes to a file, nobody else reads or writes those bytes: a write may be more
  // than one call, and a long one of uncached pages is a direct transfer.
  bool exclusive = false;
};

}  // namespace k2k::runtime

namespace k2k {

struct RuntimeConfig {
  std::string backend = "cpu";     // A name Runtime::backends() lists.
  backend::DeviceConfig device{};  // Braces, so that a caller may name the others alone.
  server::ServerConfig server{};
  control::ControlConfig control{};
  runtime::FilesConfig files{};
  // The operator's word counts more than the program's: what K2K_* variables and the configuration
  // file set replaces what stands above. False: all as it stands here.
  bool operator_settings = true;
};

}  // namespace k2k

#endif
