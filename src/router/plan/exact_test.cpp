// Goal: no schedule is better than the exact one, and greedy, split and overlapped are what they
// are said to be.
// Method: all plans of all short requests; the O(k^2) recurrence on random long ones; models on
// both sides of every case (C below and above S / BW, a cache slower than the device, no cutoff).

#include <gtest/gtest.h>

#include "router/plan/planner_fixture.hpp"

namespace k2k::router {
namespace {

constexpr std::uint32_t short_pages = 11;
// Sanitizers look at each page that is touched, once is as good as often.
#if defined(K2K_TSAN) || defined(K2K_ASAN)
constexpr int rounds = 2;
#else
constexpr int rounds = 30;
#endif
constexpr Ticks no_time = std::numeric_limits<Ticks>::max();

void expect_whole(const Plan& plan, Residency residency) {
  expect_possible(plan, residency);
  const std::vector<Range> runs = runs_by_page(residency);
  for (const Range& range : plan.cached) {
    ASSERT_NE(std::find(runs.begin(), runs.end(), range), runs.end());
  }
}

Ticks least_of_all(const Costs& costs, Residency residency, bool whole) {
  Ticks least = no_time;
  every_plan(residency, whole,
             [&](const Plan& plan) { least = std::min(least, times_of(costs, plan).serial()); });
  return least;
}

TEST(Exact, is_the_best_of_all_plans_of_every_short_request) {
  for (const Model& model : models()) {
    Planner planner = Planner::create(model, short_pages).value();
    for (std::uint32_t pages = 1; pages <= short_pages; ++pages) {
      every_residency(pages, [&](const Bytes& bytes) {
        const Plan plan = planner.exact(bytes);
        expect_whole(plan, bytes);
        const Ticks least = least_of_all(planner.costs(), bytes, true);
        ASSERT_EQ(times_of(planner.costs(), plan).serial(), least);
        ASSERT_EQ(optimum(planner.costs(), pages, runs_by_page(bytes)), least);
      });
    }
  }
}

TEST(Exact, equals_the_quadratic_recurrence_on_random_requests) {
  std::mt19937_64 random(1);
  for (const Model& model : models()) {
    for (const Scan& scan : scans()) {
      Planner planner = Planner::create(model, 4096, scan).value();
      for (const Pattern& pattern : patterns()) {
        for (int round = 0; round < rounds; ++round) {
          Bytes bytes(1 + random() % 4096);
          pattern.fill(random, bytes);
          const Plan plan = planner.exact(bytes);
          expect_whole(plan, bytes);
          ASSERT_EQ(times_of(planner.costs(), plan).serial(),
                    optimum(planner.costs(), static_cast<std::uint32_t>(bytes.size()),
                            runs_by_page(bytes)))
              << pattern.name << ", " << bytes.size() << " pages";
        }
      }
    }
  }
}

// Where decisions are close: runs around the thresholds, gaps around the cutoff.
TEST(Exact, equals_the_quadratic_recurrence_where_it_is_close) {
  std::mt19937_64 random(2);
  Planner planner = Planner::create({}, 16384).value();
  for (int round = 0; round < 5000; ++round) {
    Bytes bytes;
    while (bytes.size() < 12000 && (bytes.empty() || random() % 20 != 0)) {
      const std::uint64_t lengths[] = {1 + random() % 5, 120 + random() % 16, 330 + random() % 16,
                                       680 + random() % 12, 1 + random() % 1000};
      bytes.insert(bytes.end(), lengths[random() % 5], random() % 2);
    }
    ASSERT_EQ(
        times_of(planner.costs(), planner.exact(bytes)).serial(),
        optimum(planner.costs(), static_cast<std::uint32_t>(bytes.size()), runs_by_page(bytes)));
  }
}

TEST(Exact, is_the_same_plan_on_every_instruction_set) {
  std::mt19937_64 random(3);
  std::vector<Planner> planners;
  for (const Scan& scan : scans()) planners.push_back(Planner::create({}, 2048, scan).value());
  for (int round = 0; round < 300; ++round) {
    for (const Pattern& pattern : patterns()) {
      Bytes bytes(2048);
      pattern.fill(random, bytes);
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
TEST(Exact, merges_what_is_cheaper_in_one) {
  Planner planner = Planner::create({}, 5).value();
  const Plan plan = planner.exact(bytes_of("01010"));
  EXPECT_TRUE(plan.cached.empty());
  EXPECT_EQ(microseconds_of(planner.model(), plan).serial(), 584);
}

TEST(Planner, refuses_what_it_cannot_plan) {
  EXPECT_EQ(Planner::create({.call_us = -1}, 1).error().code, EINVAL);
  for (const std::uint32_t pages : {0u, pages_max + 1}) {
    const Result<Planner> planner = Planner::create({}, pages);
    EXPECT_EQ(planner.error().message,
              "a planner for requests of " + std::to_string(pages) +
                  " pages; permitted are 1 to 524288 (2 GiB); split the request");
  }
  EXPECT_DEATH(static_cast<void>(Planner::create({}, 4).value().exact(Bytes(5))), "fits");
}

TEST(Planner, takes_the_largest_request) {
  Planner planner = Planner::create({}, pages_max).value();
  Bytes bytes(pages_max, 1);
  for (std::size_t page = 0; page < bytes.size(); page += 700) bytes[page] = 0;
  EXPECT_EQ(times_of(planner.costs(), planner.exact(bytes)).serial(),
            optimum(planner.costs(), pages_max, runs_by_page(bytes)));
}

TEST(Split, is_the_best_of_all_plans_of_every_short_request) {
  for (const Model& model : models()) {
    Planner planner = Planner::create(model, short_pages).value();
    for (const std::uint32_t pages : {1u, 2u, 5u, 8u}) {
      every_residency(pages, [&](const Bytes& bytes) {
        const Plan plan = planner.split(bytes);
        expect_possible(plan, bytes);
        ASSERT_EQ(times_of(planner.costs(), plan).serial(),
                  least_of_all(planner.costs(), bytes, false));
      });
    }
  }
}

TEST(Split, is_never_slower_than_leaving_runs_whole) {
  std::mt19937_64 random(4);
  bool faster = false;
  for (const Model& model : models()) {
    Planner planner = Planner::create(model, 2048).value();
    for (const Pattern& pattern : patterns()) {
      for (int round = 0; round < 20; ++round) {
        Bytes bytes(2048);
        pattern.fill(random, bytes);
        const Ticks whole = times_of(planner.costs(), planner.exact(bytes)).serial();
        const Plan plan = planner.split(bytes);
        expect_possible(plan, bytes);
        ASSERT_LE(times_of(planner.costs(), plan).serial(), whole);
        faster |= times_of(planner.costs(), plan).serial() < whole;
      }
    }
  }
  EXPECT_TRUE(faster);
}

}  // namespace
}  // namespace k2k::router
