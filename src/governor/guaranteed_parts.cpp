#include "governor/guaranteed_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace k2k::governor {

GuaranteedParts::GuaranteedParts(const GovernorConfig& config, Instant now)
    : config_(config), parts_(config.tenants.size()), due_(now + review_period) {
  for (const TenantConfig& tenant : config.tenants) follow_costs_ |= tenant.rate_min > 0;
}

double GuaranteedParts::of(Tenant tenant, const RequestCost& cost, Nanoseconds unknown_cost) const {
  const TenantConfig& config = config_.tenants[tenant];
  const double each = cost.mean() > 0 ? cost.mean() : static_cast<double>(unknown_cost.count());
  return std::max(config.guarantee * config_.cores, config.rate_min * each * 1e-9);
}

std::string GuaranteedParts::explain(Tenant tenant, const RequestCost& cost, double needed,
                                     double granted) const {
  std::string rate;
  if (config_.tenants[tenant].rate_min > 0) {
    rate = fmt::format(" ({:.6g} requests a second at {:.4g} us each)",
                       config_.tenants[tenant].rate_min, cost.mean() / 1e3);
  }
  return fmt::format(
      "governor: {} is guaranteed {:.3g} % of all cores' CPU time{}, but the cap of {:.3g} % "
      "leaves it {:.3g} %; raise the cap to keep the guarantee, or lower the guarantee",
      name_of(config_, tenant), needed * 100, rate, config_.cap * 100, granted * 100);
}

}  // namespace k2k::governor
