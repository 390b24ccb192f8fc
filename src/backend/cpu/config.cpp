#include "backend/cpu/config.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include "backend/carver.hpp"
#include "backend/cpu/pages.hpp"
#include "backend/limits.hpp"
#include "base/cores.hpp"

namespace k2k::backend::cpu {

namespace {

constexpr ConfigLimit unit_limits[] = {
    {"device.compute_units", &DeviceConfig::compute_units, 1, 256},
    {"device.resident_waves", &DeviceConfig::resident_waves, 1, 16384},
    {"device.resident_groups", &DeviceConfig::resident_groups, 1, 4096},
    {"device.local_bytes", &DeviceConfig::local_bytes, 0, 16u << 20},
    {"device.spin_us", &DeviceConfig::spin_us, 0, 1'000'000},
};
constexpr std::uint32_t stack_bytes_min = 16u << 10;
constexpr std::uint32_t stack_bytes_max = 64u << 20;
// A claim names its row in 20 bits (protocol/claim.hpp).
constexpr std::uint64_t waves_max = std::uint64_t{1} << 20;

}  // namespace

Result<DeviceConfig> complete(const DeviceConfig& config) {
  DeviceConfig full = config;
  if (full.compute_units == 0) {
    full.compute_units = std::clamp(usable_cores(), 2u, 257u) - 1;
  }
  if (Status fits = check_limits(unit_limits, full); !fits) return fits.error();
  if (Status fits = check_limits(area_limits, full); !fits) return fits.error();
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
