#pragma once
// Validates the configuration of a device. Messages name the key of the configuration file, the
// value and the permitted range.
//
// Threading: pure functions.

#include <cstdint>

#include "backend/device_config.hpp"
#include "base/result.hpp"

namespace k2k::backend::cpu {

inline constexpr std::uint32_t group_items_limit = 4096;

// The configuration with its defaults filled in. Errors: EINVAL.
Result<DeviceConfig> complete(const DeviceConfig& config);

}  // namespace k2k::backend::cpu
