#pragma once
// The permitted values of a device's configuration, as tables: one per backend, and one for the
// syscall area of every backend.

#include <cstdint>
#include <span>
#include <string>

#include "backend/device_config.hpp"
#include "base/result.hpp"
#include "protocol/area.hpp"

namespace k2k::backend {

struct ConfigLimit {
  const char* key;
  std::uint32_t DeviceConfig::* value;
  std::uint32_t lowest;
  std::uint32_t highest;
};

inline constexpr ConfigLimit area_limits[] = {
    {"device.rings", &DeviceConfig::rings, 1, protocol::ring_count_max},
    {"device.ring_entries", &DeviceConfig::ring_entries, 0, 1u << 20},
    {"device.arena_blocks", &DeviceConfig::arena_blocks, 0, 65536},
};

// EINVAL, with the value and the permitted range.
Error out_of_range(const char* key, std::uint64_t value, std::uint64_t lowest,
                   std::uint64_t highest);

// Checks the tenant of a launch. Errors: EINVAL.
Status check_tenant(const std::string& kernel, std::uint32_t tenant);

// Reports the first value that is out of range. Errors: EINVAL.
Status check_limits(std::span<const ConfigLimit> limits, const DeviceConfig& config);

}  // namespace k2k::backend
