#include "backend/cpu/config.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "backend/cpu/pages.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::cpu {

namespace {

struct Limit {
  const char* key;
  std::uint32_t DeviceConfig::* value;
  std::uint32_t lowest;
  std::uint32_t highest;
};

constexpr Limit limits[] = {
    {"device.compute_units", &DeviceConfig::compute_units, 1, 256},
    {"device.resident_waves", &DeviceConfig::resident_waves, 1, 16384},
    {"device.resident_groups", &DeviceConfig::resident_groups, 1, 4096},
    {"device.local_bytes", &DeviceConfig::local_bytes, 0, 16u << 20},
    {"device.spin_us", &DeviceConfig::spin_us, 0, 1'000'000},
    {"device.rings", &DeviceConfig::rings, 1, protocol::ring_count_max},
    {"device.ring_entries", &DeviceConfig::ring_entries, 2, 1u << 20},
    {"device.arena_blocks", &DeviceConfig::arena_blocks, 1, 65536},
};
constexpr std::uint32_t stack_bytes_min = 16u << 10;
constexpr std::uint32_t stack_bytes_max = 64u << 20;
// A claim names its row in 20 bits (protocol/claim.hpp).
constexpr std::uint64_t waves_max = std::uint64_t{1} << 20;

Error out_of_range(const char* key, std::uint64_t value, std::uint64_t lowest,
                   std::uint64_t highest) {
  return Error{EINVAL, std::string(key) + " is " + std::to_string(value) + "; it must be " +
                           std::to_string(lowest) + " to " + std::to_string(highest)};
}

}  // namespace

Result<DeviceConfig> complete(const DeviceConfig& config) {
  DeviceConfig full = config;
  if (full.compute_units == 0) {
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    full.compute_units = static_cast<std::uint32_t>(std::clamp(online - 1, 1l, 256l));
  }
  for (const Limit& limit : limits) {
    const std::uint32_t value = full.*limit.value;
    if (value < limit.lowest || value > limit.highest) {
      return out_of_range(limit.key, value, limit.lowest, limit.highest);
    }
  }
  if (full.wave_lanes != 32 && full.wave_lanes != 64) {
    return Error{EINVAL, "device.wave_lanes is " + std::to_string(full.wave_lanes) +
                             "; it must be 32 or 64"};
  }
  if (full.stack_bytes < stack_bytes_min || full.stack_bytes > stack_bytes_max) {
    return out_of_range("device.stack_bytes", full.stack_bytes, stack_bytes_min, stack_bytes_max);
  }
  if (std::uint64_t{full.compute_units} * full.resident_waves > waves_max) {
    return out_of_range("device.compute_units x device.resident_waves",
                        std::uint64_t{full.compute_units} * full.resident_waves, 1, waves_max);
  }
  full.stack_bytes = static_cast<std::uint32_t>(round_up(full.stack_bytes, page_bytes));
  return full;
}

}  // namespace k2k::backend::cpu
