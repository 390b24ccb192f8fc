// Goal: the fit finds the steps of a staircase with noise, and none where there is none.

#include "labs/translation/change_points.hpp"

#include <gtest/gtest.h>

#include <random>

namespace k2k::labs::translation {
namespace {

std::vector<double> staircase(const std::vector<std::pair<std::size_t, double>>& steps,
                              double noise, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> around(0, noise);
  std::vector<double> values;
  for (const auto& [count, value] : steps) {
    for (std::size_t at = 0; at < count; ++at) values.push_back(value * std::exp(around(random)));
  }
  return values;
}

TEST(ChangePoints, finds_each_step_of_a_staircase_with_noise) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    const auto values = staircase({{16, 1.0}, {20, 3.0}, {12, 20.0}}, 0.04, seed);
    const auto segments = segments_of(values, {});
    ASSERT_EQ(segments.size(), 3u) << "seed " << seed;
    EXPECT_EQ(segments[0].last, 15u) << "seed " << seed;
    EXPECT_EQ(segments[1].first, 16u) << "seed " << seed;
    EXPECT_EQ(segments[1].last, 35u) << "seed " << seed;
    EXPECT_NEAR(segments[2].value, 20, 1) << "seed " << seed;
  }
}

TEST(ChangePoints, finds_no_step_in_noise_alone) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    for (const double noise : {0.0, 0.02, 0.1}) {
      const auto segments = segments_of(staircase({{40, 7.0}}, noise, seed), {});
      ASSERT_EQ(segments.size(), 1u) << "seed " << seed << ", noise " << noise;
      EXPECT_NEAR(segments[0].value, 7, 0.5);
    }
  }
}

TEST(ChangePoints, covers_every_value_once) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> any(0.5, 50);
    std::vector<double> values(seed);
    for (double& value : values) value = any(random);
    std::size_t next = 0;
    for (const Segment& one : segments_of(values, {})) {
      EXPECT_EQ(one.first, next);
      EXPECT_GE(one.last, one.first);
      next = one.last + 1;
    }
    EXPECT_EQ(next, values.size());
  }
}

TEST(ChangePoints, joins_steps_that_are_smaller_than_the_rule_asks) {
  const auto values = staircase({{20, 1.0}, {20, 1.1}}, 0, 1);
  EXPECT_EQ(segments_of(values, {.step = 1.15}).size(), 1u);
  EXPECT_EQ(segments_of(values, {.step = 1.05}).size(), 2u);
}

TEST(ChangePoints, a_single_value_is_a_segment_and_none_is_none) {
  ASSERT_EQ(segments_of({3.0}, {}).size(), 1u);
  EXPECT_DOUBLE_EQ(segments_of({3.0}, {})[0].value, 3);
  EXPECT_TRUE(segments_of({}, {}).empty());
}

}  // namespace
}  // namespace k2k::labs::translation
