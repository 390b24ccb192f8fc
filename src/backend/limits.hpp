#pragma once
// What a value of the device's configuration may be, as data: one table a backend, and one of what
// lies in every syscall area.

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
    {"device.ring_entries", &DeviceConfig::ring_entries, 2, 1u << 20},
    {"device.arena_blocks", &DeviceConfig::arena_blocks, 1, 65536},
};

// EINVAL, with the value and what is permitted.
Error out_of_range(const char* key, std::uint64_t value, std::uint64_t lowest,
                   std::uint64_t highest);

// The tenant of a launch. Errors: EINVAL.
Status check_tenant(const std::string& kernel, std::uint32_t tenant);

// The first value that is out of range, if any. Errors: EINVAL.
Status check_limits(std::span<const ConfigLimit> limits, const DeviceConfig& config);

}  // namespace k2k::backend
