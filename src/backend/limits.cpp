#include "backend/limits.hpp"

#include <cerrno>
#include <string>

namespace k2k::backend {

Error out_of_range(const char* key, std::uint64_t value, std::uint64_t lowest,
                   std::uint64_t highest) {
  return Error{EINVAL, std::string(key) + " is " + std::to_string(value) + "; it must be " +
                           std::to_string(lowest) + " to " + std::to_string(highest)};
}

Status check_tenant(const std::string& kernel, std::uint32_t tenant) {
  if (tenant < protocol::tenants_max) return {};
  return Error{EINVAL, kernel + "a launch's tenant is 0 to " +
                           std::to_string(protocol::tenants_max - 1) + ", not " +
                           std::to_string(tenant)};
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
