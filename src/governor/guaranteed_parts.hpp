#pragma once
// The parts of the rate that are guaranteed to tenants. A guarantee in requests per second follows
// the measured cost of a request: then the parts are reviewed periodically.
//
// Threading: under its user's lock.

#include <string>
#include <vector>

#include "base/units.hpp"
#include "governor/config.hpp"
#include "governor/costs.hpp"

namespace k2k::governor {

class GuaranteedParts {
 public:
  static constexpr Nanoseconds review_period = std::chrono::milliseconds(10);

  // `config` must outlive this object, and may change its cap.
  GuaranteedParts(const GovernorConfig& config, Instant now);

  // Returns true if the parts follow measured costs.
  [[nodiscard]] bool follow_costs() const { return follow_costs_; }
  [[nodiscard]] bool review_is_due(Instant now) const { return follow_costs_ && now >= due_; }
  void reviewed(Instant now) { due_ = now + review_period; }

  // In cores, if a request of unknown cost takes `unknown_cost`.
  [[nodiscard]] double of(Tenant tenant, const RequestCost& cost, Nanoseconds unknown_cost) const;
  // The same for each tenant, with the costs that `cost_of` returns. Valid until the next call.
  template <class CostOf>
  [[nodiscard]] const std::vector<double>& all(CostOf cost_of) {
    for (Tenant tenant = 0; tenant < parts_.size(); ++tenant) {
      parts_[tenant] = of(tenant, cost_of(tenant), config_.service_max);
    }
    return parts_;
  }

  // The reason why the tenant is granted less than it needs, both as parts of all cores.
  [[nodiscard]] std::string explain(Tenant tenant, const RequestCost& cost, double needed,
                                    double granted) const;

 private:
  const GovernorConfig& config_;
  std::vector<double> parts_;  // In cores; kept so that a review allocates no memory.
  bool follow_costs_ = false;
  Instant due_;
};

}  // namespace k2k::governor
