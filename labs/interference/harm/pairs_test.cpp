// Goal: an interval contains the truth as often as it says, an order has both sides in balance, and
// a comparison ends by its rule alone.

#include "labs/interference/harm/pairs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "labs/interference/governor/random.hpp"

namespace k2k::labs::harm {
namespace {

TEST(HarmPairs, each_block_has_two_pairs_with_one_run_of_each_side) {
  std::set<bool> firsts;
  for (std::size_t block = 0; block < 64; ++block) {
    const auto order = block_order(7, "spin|ubench", block);
    EXPECT_NE(order[0], order[1]);
    EXPECT_NE(order[2], order[3]);
    EXPECT_EQ(order[0], order[3]) << "ABBA or BAAB";
    firsts.insert(order[0]);
    EXPECT_EQ(order, block_order(7, "spin|ubench", block)) << "the same seed, the same order";
  }
  EXPECT_EQ(firsts.size(), 2u) << "both orders occur";
}

TEST(HarmPairs, the_interval_contains_the_truth_in_about_19_of_20_experiments) {
  governor::Random random(3);
  constexpr int experiments = 400;
  for (const std::size_t pairs : {4u, 10u, 24u}) {
    int contained = 0;
    for (int experiment = 0; experiment < experiments; ++experiment) {
      std::vector<double> values(pairs);
      for (double& value : values) value = 0.04 + 0.02 * random.normal();
      contained += bootstrap(values, static_cast<std::uint64_t>(experiment)).contains(0.04);
    }
    EXPECT_GT(contained, experiments * 92 / 100) << pairs << " pairs";
    EXPECT_LT(contained, experiments) << pairs << " pairs";
  }
}

TEST(HarmPairs, one_interval_in_twenty_excludes_the_truth_by_chance) {
  EXPECT_EQ(most_by_chance(0), 0u);
  EXPECT_EQ(most_by_chance(1), 0u) << "0.95";
  EXPECT_EQ(most_by_chance(2), 1u) << "0.9025, and 0.9975";
  EXPECT_EQ(most_by_chance(6), 1u) << "0.967";
  EXPECT_EQ(most_by_chance(36), 4u) << "0.9 of 3, and 0.97 of 4";
}

TEST(HarmPairs, the_estimate_of_no_and_of_equal_values_has_no_width) {
  EXPECT_EQ(bootstrap({}, 1).pairs, 0u);
  const Estimate same = bootstrap({0.5, 0.5, 0.5}, 1);
  EXPECT_DOUBLE_EQ(same.mean, 0.5);
  EXPECT_NEAR(same.half_width(), 0, 1e-12);
  EXPECT_NEAR(ratio_of(same).mean, std::exp(0.5), 1e-12);
}

TEST(HarmPairs, a_comparison_ends_when_all_primary_intervals_are_narrow_or_the_budget_is_spent) {
  const StopRule rule{.half_width = 0.01, .pairs_min = 10, .pairs_max = 20};
  const Estimate narrow{-0.005, 0, 0.005, 10};
  const Estimate wide{-0.05, 0, 0.05, 10};
  Estimate few = narrow;
  few.pairs = 9;
  EXPECT_EQ(end_of({narrow, narrow}, 10, rule), End::precise);
  EXPECT_EQ(end_of({narrow, wide}, 10, rule), End::goes_on);
  EXPECT_EQ(end_of({few}, 12, rule), End::goes_on) << "too few pairs that count";
  EXPECT_EQ(end_of({narrow, wide}, 20, rule), End::exhausted);
}

}  // namespace
}  // namespace k2k::labs::harm
