#include "labs/routing/quality.hpp"

#include <gtest/gtest.h>

namespace k2k::labs::routing {
namespace {

TEST(Quality, of_the_exact_schedule_is_one_and_of_greedy_below) {
  router::Planner planner = router::Planner::create({}, 2048).value();
  Judge judge(planner, 2048);
  for (const Pattern& pattern : patterns()) {
    std::mt19937_64 random(1);
    Quality quality;
    for (int round = 0; round < 100; ++round) judge.add(quality, pattern, random);
    EXPECT_EQ(quality.vectors, 100u);
    EXPECT_EQ(quality.exact.worst, 1.0) << pattern.name;
    EXPECT_EQ(quality.mean(quality.exact), 1.0) << pattern.name;
    EXPECT_LE(quality.greedy.worst, 1.0) << pattern.name;
    EXPECT_GE(quality.split.worst, 1.0) << pattern.name;
    EXPECT_GE(quality.overlapped.worst, 1.0) << pattern.name;
    EXPECT_GE(quality.runs, quality.candidates) << pattern.name;
  }
}

TEST(Patterns, are_the_same_for_the_same_seed) {
  for (const Pattern& pattern : patterns()) {
    std::vector<std::uint8_t> one(2048);
    std::vector<std::uint8_t> other(2048);
    std::mt19937_64 random(5);
    pattern.fill(random, one);
    random.seed(5);
    pattern.fill(random, other);
    EXPECT_EQ(one, other) << pattern.name;
  }
}

}  // namespace
}  // namespace k2k::labs::routing
