#include "server/govern/effective_limits.hpp"

#include <algorithm>

#include "host/limit.hpp"

namespace k2k::server {

namespace {

// A check by a sleeping thread takes 20 to 30 us of CPU time, whatever it reads: every 100 ms,
// that was 1.2 % of a cap of 1 % on two cores.
constexpr Nanoseconds core_check_cost{30'000};
constexpr double watch_part_of_cap = 0.003;
constexpr Nanoseconds watch_tick_min = std::chrono::milliseconds(100);
constexpr Nanoseconds watch_tick_max = std::chrono::seconds(1);

}  // namespace

double own_cap(const ServerConfig& config) {
  return config.cap_permille != 0 ? config.cap_permille / 1000.0 : 1;
}

EffectiveLimits effective_limits(const ServerConfig& config, const HostLimit& host,
                                 std::uint32_t cores) {
  EffectiveLimits limits;
  if (config.cap_permille != 0 && config.governor != governor::Policy::none) {
    limits.policy = config.governor;
    limits.cap = own_cap(config);
  }
  if (limits.policy != governor::Policy::none || host.limit > 0) limits.tenants = config.tenants;
  if (host.limit > 0) {
    const double part = std::max(host.part, host::limit_min);
    limits.cap = limits.cap > 0 ? std::min(limits.cap, part) : part;
    // A runtime may lower its part, but not choose a policy that exceeds it.
    if (limits.policy != governor::Policy::automatic) limits.policy = governor::Policy::budget;
  }
  if (limits.policy != governor::Policy::none) limits.cores = cores;
  if (limits.policy == governor::Policy::automatic) {
    limits.loss_max_permille = config.loss_max_permille;
  }
  return limits;
}

Nanoseconds watch_tick_of(double cap, std::uint32_t cores) {
  const double part = cap * cores * watch_part_of_cap;
  const double tick = part > 0 ? static_cast<double>(core_check_cost.count()) / part : 0;
  const auto longest = static_cast<double>(watch_tick_max.count());
  return std::max(watch_tick_min, Nanoseconds(std::lround(std::min(tick, longest))));
}

}  // namespace k2k::server
