#pragma once
// The device of the applications' tests.
//
// Threading: pure functions.

#include <cstdint>

#include "runtime/settings/config.hpp"

namespace k2k::apps {

inline RuntimeConfig small_device(std::uint32_t compute_units = 1) {
  RuntimeConfig config;
  config.backend = "cpu";
  config.device.compute_units = compute_units;
  return config;
}

}  // namespace k2k::apps
