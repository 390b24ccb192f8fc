// Goal: no schedule is better than the exact one. Method: all plans of all short requests; models
// on both sides of every case (C below and above S / BW, a cache slower than the device, no
// cutoff). labs/routing/ compares long requests with the recurrence.

#include <gtest/gtest.h>

#include "router/plan/planner_fixture.hpp"

namespace k2k::router {
namespace {

constexpr std::uint32_t short_pages = 11;

TEST(Exact, is_the_best_of_all_plans_of_every_short_request) {
  for (const Model& model : models()) {
    Planner planner = Planner::create(model, short_pages).value();
    for (std::uint32_t pages = 1; pages <= short_pages; ++pages) {
      every_residency(pages, [&](const Bytes& bytes) {
        const Plan plan = planner.exact(bytes);
        expect_whole(plan, bytes);
        const Ticks least = least_of_all(planner.costs(), bytes, true);
        ASSERT_EQ(times_of(planner.costs(), plan).serial(), least);
      });
    }
  }
}

TEST(Exact, is_the_same_plan_on_every_instruction_set) {
  std::mt19937_64 random(3);
  std::vector<Planner> planners;
  for (const Scan& scan : scans()) planners.push_back(Planner::create({}, 2048, scan).value());
  for (int round = 0; round < 300; ++round) {
    for (int kind = 0; kind < 8; ++kind) {
      const Bytes bytes = random_residency(random, 2048);
      const Plan first = planners.front().exact(bytes);
      for (Planner& planner : planners) {
        const Plan other = planner.exact(bytes);
        ASSERT_TRUE(std::equal(first.cached.begin(), first.cached.end(), other.cached.begin(),
                               other.cached.end()));
      }
    }
  }
}

TEST(Exact, plans_the_edges) {
  Planner planner = Planner::create({}, 2048).value();
  EXPECT_EQ(planner.exact({}).pages, 0u);
  EXPECT_TRUE(planner.exact({}).cached.empty());
  EXPECT_EQ(planner.exact(bytes_of("1")).cached[0], (Range{0, 1}));
  EXPECT_TRUE(planner.exact(bytes_of("0")).cached.empty());
  EXPECT_EQ(planner.exact(Bytes(2048, 1)).cached[0], (Range{0, 2048}));
  EXPECT_TRUE(planner.exact(Bytes(2048, 0)).cached.empty());
  // mincore(2) promises the lowest bit only.
  EXPECT_TRUE(planner.exact(Bytes(2048, 0xfe)).cached.empty());
  EXPECT_EQ(planner.exact(Bytes(2048, 0xff)).cached.size(), 1u);
}

// Pages 2 and 4 of five are cached (the paper's example): one direct transfer of all.
TEST(Exact, merges_pieces_that_are_cheaper_together) {
  Planner planner = Planner::create({}, 5).value();
  const Plan plan = planner.exact(bytes_of("01010"));
  EXPECT_TRUE(plan.cached.empty());
  EXPECT_EQ(microseconds_of(planner.model(), plan).serial(), 584);
}

TEST(Planner, refuses_models_and_sizes_out_of_range) {
  EXPECT_EQ(Planner::create({.call_us = -1}, 1).error().code, EINVAL);
  for (const std::uint32_t pages : {0u, pages_max + 1}) {
    const Result<Planner> planner = Planner::create({}, pages);
    EXPECT_EQ(planner.error().message,
              "a planner for requests of " + std::to_string(pages) +
                  " pages; permitted are 1 to 524288 (2 GiB); split the request");
  }
  EXPECT_DEATH(static_cast<void>(Planner::create({}, 4).value().exact(Bytes(5))), "fits");
}

}  // namespace
}  // namespace k2k::router
