// Goal: the exact schedule takes as long as the O(k^2) recurrence, and the recurrence as long as
// the best of all plans; split is the best if runs may be split. Method: all plans of all short
// requests; random long ones under models on both sides of every case.

#include "labs/routing/optimum.hpp"

#include <gtest/gtest.h>

#include "labs/routing/baselines.hpp"
#include "labs/routing/patterns.hpp"
#include "router/plan/planner_fixture.hpp"

namespace k2k::labs::routing {
namespace {

using namespace router;

constexpr std::uint32_t short_pages = 11;
constexpr int rounds = 30;

TEST(Optimum, is_the_best_of_all_plans_of_every_short_request) {
  for (const Model& model : models()) {
    const Costs costs = costs_of(model).value();
    for (const std::uint32_t pages : {1u, 2u, 5u, 8u, short_pages}) {
      every_residency(pages, [&](const Bytes& bytes) {
        ASSERT_EQ(optimum(costs, pages, runs_by_page(bytes)), least_of_all(costs, bytes, true));
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

// Where two decisions cost nearly the same: runs around the thresholds, gaps around the cutoff.
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

TEST(Exact, takes_the_largest_request) {
  Planner planner = Planner::create({}, pages_max).value();
  Bytes bytes(pages_max, 1);
  for (std::size_t page = 0; page < bytes.size(); page += 700) bytes[page] = 0;
  EXPECT_EQ(times_of(planner.costs(), planner.exact(bytes)).serial(),
            optimum(planner.costs(), pages_max, runs_by_page(bytes)));
}

TEST(Split, is_the_best_of_all_plans_of_every_short_request) {
  for (const Model& model : models()) {
    const Costs costs = costs_of(model).value();
    Baselines baselines(costs, short_pages);
    for (const std::uint32_t pages : {1u, 2u, 5u, 8u}) {
      every_residency(pages, [&](const Bytes& bytes) {
        const Plan plan = baselines.split(bytes);
        expect_possible(plan, bytes);
        ASSERT_EQ(times_of(costs, plan).serial(), least_of_all(costs, bytes, false));
      });
    }
  }
}

TEST(Split, is_never_slower_than_leaving_runs_whole) {
  std::mt19937_64 random(4);
  bool faster = false;
  for (const Model& model : models()) {
    Planner planner = Planner::create(model, 2048).value();
    Baselines baselines(planner.costs(), 2048);
    for (const Pattern& pattern : patterns()) {
      for (int round = 0; round < 20; ++round) {
        Bytes bytes(2048);
        pattern.fill(random, bytes);
        const Ticks whole = times_of(planner.costs(), planner.exact(bytes)).serial();
        const Plan plan = baselines.split(bytes);
        expect_possible(plan, bytes);
        ASSERT_LE(times_of(planner.costs(), plan).serial(), whole);
        faster |= times_of(planner.costs(), plan).serial() < whole;
      }
    }
  }
  EXPECT_TRUE(faster);
}

}  // namespace
}  // namespace k2k::labs::routing
