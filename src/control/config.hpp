#pragma once
// How a running process is seen and steered from outside.

#include <cstdint>

namespace k2k::control {

struct ControlConfig {
  bool socket = true;              // For k2k ctl and k2k top (listener.hpp).
  std::uint32_t metrics_port = 0;  // Of 127.0.0.1, for Prometheus (http_page.hpp); 0 = none.
};

}  // namespace k2k::control
