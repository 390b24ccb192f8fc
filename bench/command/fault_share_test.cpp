// Goal: the share of the faults is that of the times which were put in, its interval has the width
// of their noise, and a row is explained by faults only if it meets its goal without them.

#include "bench/command/fault_share.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/command/goal.hpp"

namespace k2k::bench {
namespace {

constexpr Goal goal = {"applications", "bpt, demand"};

TEST(FaultShare, is_the_part_of_the_difference_that_pinned_pages_lack) {
  // A difference of 8, of which 2 remain without faults.
  const auto share = fault_share({{10, 10, 10}, {2, 2, 2}}, {{4, 4, 4}, {2, 2, 2}});
  ASSERT_TRUE(share);
  EXPECT_DOUBLE_EQ(share->mean, 0.75);
  EXPECT_DOUBLE_EQ(share->low, 0.75);
  EXPECT_DOUBLE_EQ(share->high, 0.75);
  const auto all = fault_share({{10, 11}, {2, 3}}, {{2, 2}, {2, 2}});
  ASSERT_TRUE(all);
  EXPECT_DOUBLE_EQ(all->mean, 1);
  const auto faster = fault_share({{10, 10}, {2, 2}}, {{14, 14}, {2, 2}});
  ASSERT_TRUE(faster);
  EXPECT_DOUBLE_EQ(faster->mean, -0.5) << "the faults take from the difference";
}

TEST(FaultShare, has_the_interval_of_a_ratio_of_means) {
  // Rests of 1 and 3 of differences of 8: the mean 0.75 -+ 12.706 x sqrt(2) / sqrt(2) / 8.
  const auto share = fault_share({{10, 10}, {2, 2}}, {{3, 5}, {2, 2}});
  ASSERT_TRUE(share);
  EXPECT_NEAR(share->mean, 0.75, 1e-12);
  EXPECT_NEAR(share->high - share->mean, 12.706 / 8, 1e-9);
  EXPECT_NEAR(share->mean - share->low, 12.706 / 8, 1e-9);
}

TEST(FaultShare, of_a_difference_that_may_be_none_is_not_told) {
  EXPECT_FALSE(fault_share({{2, 4}, {3, 3}}, {{3, 3}, {3, 3}}));
  EXPECT_FALSE(fault_share({{3, 3}, {3, 3}}, {{3, 3}, {3, 3}}));
  EXPECT_TRUE(fault_share({{2, 2}, {3, 3}}, {{3, 3}, {3, 3}})) << "a gain is a difference";
}

TEST(FaultColumns, explain_a_row_that_meets_its_goal_without_faults) {
  const ArmTimes demand = {{0.4, 0.41, 0.39}, {0.2, 0.2, 0.2}};
  const ArmTimes met = {{0.102, 0.101, 0.1}, {0.1, 0.1, 0.1}};
  const ArmTimes missed = {{0.2, 0.21, 0.19}, {0.1, 0.1, 0.1}};
  const auto columns = fault_columns(goal, demand, met, 1'000, "missed");
  EXPECT_EQ(columns["verdict"], "explained");
  EXPECT_EQ(columns["pinned"], 1.01);
  EXPECT_EQ(columns["share"], 0.995);
  EXPECT_EQ(columns["page_us"], 298.0);
  EXPECT_EQ(columns["direct_page_us"], 100.0);
  EXPECT_EQ(fault_columns(goal, demand, met, 1'000, "cannot tell")["verdict"], "explained");
  EXPECT_EQ(fault_columns(goal, demand, met, 1'000, "met")["verdict"], "met");
  EXPECT_EQ(fault_columns(goal, demand, missed, 1'000, "missed")["verdict"], "missed");
  EXPECT_EQ(fault_columns(goal, demand, missed, 1'000, "cannot tell")["verdict"], "cannot tell");
}

TEST(FaultColumns, are_null_for_a_row_without_pages_on_demand) {
  const auto columns = fault_columns(goal, {{2, 2}, {1, 1}}, std::nullopt, 0, "missed");
  for (const auto& [key, value] : columns.items()) {
    EXPECT_EQ(value.is_null(), key != "verdict") << key;
  }
  EXPECT_EQ(columns["verdict"], "missed");
}

TEST(FaultColumns, that_explain_are_no_missed_goal) {
  const nlohmann::ordered_json rows = {{{"verdict", explained}}, {{"verdict", "missed"}}};
  EXPECT_EQ(goals_of(rows).judged, 2u);
  EXPECT_EQ(goals_of(rows).missed, 1u);
}

}  // namespace
}  // namespace k2k::bench
