#include "governor/guaranteed_parts.hpp"

#include <gtest/gtest.h>

#include "governor/governor.hpp"

namespace k2k::governor {
namespace {

using namespace std::chrono_literals;

constexpr Instant start{};

// Of two cores, the first tenant has a tenth, and the second 1,000 requests a second.
GovernorConfig two_tenants() {
  GovernorConfig config;
  config.cores = 2;
  config.cap = 0.5;
  config.service_max = 5ms;
  config.tenants = {TenantConfig{.guarantee = 0.1}, TenantConfig{.rate_min = 1'000}};
  return config;
}

TEST(RequestCost, is_unknown_until_a_request_was_served) {
  RequestCost cost;
  cost.learn(1ms, 0);
  EXPECT_EQ(cost.mean(), 0);
  EXPECT_EQ(cost.reserve(), 0);
}

TEST(RequestCost, of_equal_requests_is_their_mean_and_needs_no_reserve) {
  RequestCost cost;
  for (int batch = 0; batch < 3; ++batch) cost.learn(30us, 3);
  EXPECT_DOUBLE_EQ(cost.mean(), 10'000);
  EXPECT_DOUBLE_EQ(cost.reserve(), 10'000);
}

TEST(RequestCost, follows_measurements_and_reserves_for_their_spread) {
  RequestCost cost;
  cost.learn(8us, 1);
  cost.learn(16us, 1);
  EXPECT_DOUBLE_EQ(cost.mean(), 9'000) << "an eighth of the way";
  EXPECT_DOUBLE_EQ(cost.reserve(), 9'000 + 4 * 2'000) << "a quarter of the deviation";
  for (int request = 0; request < 200; ++request) cost.learn(16us, 1);
  EXPECT_NEAR(cost.reserve(), 16'000, 1);
}

TEST(GuaranteedParts, follow_costs_only_for_guaranteed_rates) {
  GovernorConfig config = two_tenants();
  EXPECT_TRUE(GuaranteedParts(config, start).follow_costs());
  config.tenants.pop_back();
  const GuaranteedParts fixed(config, start);
  EXPECT_FALSE(fixed.follow_costs());
  EXPECT_FALSE(fixed.review_is_due(start + 1h));
}

TEST(GuaranteedParts, are_reviewed_once_a_period) {
  const GovernorConfig config = two_tenants();
  GuaranteedParts parts(config, start);
  EXPECT_FALSE(parts.review_is_due(start + 9ms));
  EXPECT_TRUE(parts.review_is_due(start + 10ms));
  parts.reviewed(start + 12ms);
  EXPECT_FALSE(parts.review_is_due(start + 21ms));
  EXPECT_TRUE(parts.review_is_due(start + 22ms));
}

TEST(GuaranteedParts, of_a_rate_are_the_cpu_time_of_its_requests) {
  const GovernorConfig config = two_tenants();
  const GuaranteedParts parts(config, start);
  RequestCost cost;
  EXPECT_DOUBLE_EQ(parts.of(1, cost, 100us), 0.1) << "cores, with the assumed cost";
  EXPECT_DOUBLE_EQ(parts.of(1, cost, {}), 0);
  cost.learn(200us, 1);
  EXPECT_DOUBLE_EQ(parts.of(1, cost, 100us), 0.2);
  EXPECT_DOUBLE_EQ(parts.of(0, cost, 100us), 0.2) << "a tenth of two cores";
}

TEST(GuaranteedParts, of_all_tenants_assume_the_longest_service) {
  const GovernorConfig config = two_tenants();
  GuaranteedParts parts(config, start);
  const RequestCost unknown;
  const std::vector<double>& all = parts.all([&](Tenant) -> const RequestCost& { return unknown; });
  ASSERT_EQ(all.size(), 2u);
  EXPECT_DOUBLE_EQ(all[0], 0.2);
  EXPECT_DOUBLE_EQ(all[1], 5);
}

TEST(GuaranteedParts, explain_names_the_rate_the_cost_and_the_cap) {
  const GovernorConfig config = two_tenants();
  const GuaranteedParts parts(config, start);
  RequestCost cost;
  cost.learn(200us, 1);
  EXPECT_EQ(
      parts.explain(1, cost, 0.6, 0.4),
      "governor: " + name_of(config, 1) +
          " is guaranteed 60 % of all cores' CPU time (1000 requests a second at 200 us "
          "each), but the cap of 50 % leaves it 40 %; raise the cap to keep the guarantee, or "
          "lower the guarantee");
}

}  // namespace
}  // namespace k2k::governor
