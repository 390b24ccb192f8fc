#include "backend/limits.hpp"

#include <cerrno>
#include <string>

namespace k2k::backend {

Error out_of_range(const char* key, std::uint64_t value, std::uint64_t lowest,
                   std::uint64_t highest) {
  return Error{EINVAL, std::string(key) + " is " + std::to_string(value) + "; it must be " +
                           std::to_string(lowest) + " to " + std::to_string(highest)};
}

Status check_limits(std::span<const ConfigLimit> limits, const DeviceConfig& config) {
  for (const ConfigLimit& limit : limits) {
    const std::uint32_t value = config.*limit.value;
    if (value >= limit.lowest && value <= limit.highest) continue;
    return out_of_range(limit.key, value, limit.lowest, limit.highest);
  }
  return {};
}

}  // namespace k2k::backend
