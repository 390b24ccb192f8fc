#pragma once
// How the cap is shared: the setting server.tenants, and which budget a request's tenant has.
//
//   "1:weight=3 2:guarantee=2% 3:rate=500,weight=0.5"
//
// Tenants are LaunchShape::tenant, 0 to 63. Unnamed tenants share the budget of tenant 0 (weight 1
// if 0 is not named either). governor::TenantConfig defines the words.
//
// Threading: pure functions and plain values.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "governor/config.hpp"
#include "protocol/slot.hpp"

namespace k2k::server {

struct TenantBudgets {
  // The governor's budgets. Unnamed tenants share the first.
  std::vector<governor::TenantConfig> budgets = {{}};
  // The owner of each budget; 0 for the first.
  std::vector<std::uint32_t> tenants = {0};
  std::array<std::uint8_t, protocol::tenants_max> budget_of{};
};

// Errors: EINVAL; the message names the entry, the mistake, and the permitted values.
Result<TenantBudgets> parse_tenants(std::string_view text);

}  // namespace k2k::server
