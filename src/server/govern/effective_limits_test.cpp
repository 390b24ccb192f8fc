// Goal: the lesser of the runtime's cap and the part of the host limit is in force, under a policy
// that keeps it.

#include "server/govern/effective_limits.hpp"

#include <gtest/gtest.h>

#include "host/limit.hpp"

namespace k2k::server {
namespace {

using governor::Policy;

ServerConfig wish(std::uint32_t permille, Policy policy = Policy::budget) {
  ServerConfig config;
  config.cap_permille = permille;
  config.governor = policy;
  return config;
}

TEST(EffectiveLimits, are_none_without_a_cap_or_a_policy) {
  EXPECT_EQ(effective_limits(wish(0), {}, 4), EffectiveLimits{});
  EXPECT_EQ(effective_limits(wish(10, Policy::none), {}, 4), EffectiveLimits{});
  ServerConfig tenants = wish(0);
  tenants.tenants = "1:weight=2";
  EXPECT_EQ(effective_limits(tenants, {}, 4).tenants, "") << "there is nothing to divide";
}

TEST(EffectiveLimits, are_the_lesser_of_cap_and_part_under_every_policy) {
  for (const Policy policy : governor::all_policies) {
    for (const std::uint32_t permille : {0u, 30u, 900u}) {
      const EffectiveLimits limits = effective_limits(wish(permille, policy), {0.2, 0.1, 2}, 4);
      const bool own = policy != Policy::none && permille == 30;
      EXPECT_DOUBLE_EQ(limits.cap, own ? 0.03 : 0.1);
      EXPECT_EQ(limits.cores, 4u);
      const bool automatic = policy == Policy::automatic && permille != 0;
      EXPECT_EQ(limits.policy, automatic ? Policy::automatic : Policy::budget);
      EXPECT_EQ(limits.loss_max_permille != 0, automatic);
    }
  }
}

TEST(EffectiveLimits, leave_the_least_part_to_a_runtime_without_one) {
  EXPECT_DOUBLE_EQ(effective_limits(wish(0), {0.2, 0, 300}, 4).cap, host::limit_min);
}

TEST(PublishedLimits, are_one_word_of_cap_and_epoch) {
  PublishedLimits limits;
  EXPECT_EQ(limits.read().cap, 0u);
  for (const double cap : {0.0001, 0.05, 0.333333333, 1.0, 0.0}) {
    limits.publish(cap, 4'000'000'000u);
    EXPECT_DOUBLE_EQ(limits.cap(), cap);
    EXPECT_EQ(limits.read().cap != 0, cap > 0);
    EXPECT_EQ(limits.read().epoch, 4'000'000'000u);
  }
}

}  // namespace
}  // namespace k2k::server
