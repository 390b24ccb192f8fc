#include "router/plan/explain.hpp"

#include <gtest/gtest.h>

#include "router/plan/planner_fixture.hpp"

namespace k2k::router {
namespace {

class Explain : public testing::Test {
 protected:
  std::vector<Segment> of(const Bytes& residency, Rule rule = Rule::exact) {
    // A plan of any planner, since the explanation follows the rule.
    const Plan plan =
        rule == Rule::overlapped ? planner_.overlapped(residency) : planner_.exact(residency);
    return explain(planner_.model(), 338, plan, residency, rule);
  }
  static Bytes runs(std::initializer_list<std::pair<std::uint32_t, std::uint8_t>> all) {
    Bytes bytes;
    for (const auto& [pages, cached] : all) bytes.insert(bytes.end(), pages, cached);
    return bytes;
  }

  Planner planner_ = Planner::create({}, 4096).value();
};

TEST_F(Explain, gives_the_kind_and_the_time_of_each_segment) {
  const auto all = of(runs({{100, 1}, {300, 0}, {40, 1}, {300, 0}, {900, 1}, {300, 0}}));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].why,
            "cached head of 100 pages, decided by time: copied, the transfer is shorter");
  EXPECT_EQ(all[1].range, (Range{100, 740}));
  EXPECT_EQ(all[1].why,
            "600 not cached; 40 cached in 1 run taken along: no run is longer than b* = 338 (the "
            "longest has 40 pages), cheaper than another transfer");
  EXPECT_EQ(all[2].why,
            "cached run of 900 pages > b* = 338: copying saves more than another transfer costs");
  EXPECT_EQ(all[3].why, "not cached");
  EXPECT_DOUBLE_EQ(all[2].us, cache_us({}, 900));
  EXPECT_DOUBLE_EQ(all[3].us, direct_us({}, 300));
}

TEST_F(Explain, reports_a_cached_request_and_ends_that_are_read_along) {
  EXPECT_EQ(of(runs({{50, 1}}))[0].why, "all of it is cached: copied");
  const auto ends = of(runs({{1, 1}, {1, 0}, {1, 1}}));
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].runs, 2u);
  EXPECT_EQ(ends[0].cached, 2u);
  const auto long_along = of(runs({{10, 0}, {500, 1}, {10, 0}}));
  ASSERT_EQ(long_along.size(), 1u);
  EXPECT_EQ(long_along[0].why, "20 not cached; 500 cached in 1 run taken along: decided by time");
  Planner slow_cache = Planner::create({100, 65536, 12, 0.5}, 4096).value();
  const Bytes cached(3000, 1);
  EXPECT_EQ(
      explain(slow_cache.model(), pages_max, slow_cache.exact(cached), cached, Rule::exact)[0].why,
      "cached, but a direct transfer is faster than the copy");
}

TEST_F(Explain, names_the_rule_of_other_schedules) {
  const Bytes bytes = runs({{600, 0}, {900, 1}, {600, 0}, {10, 1}, {600, 0}});
  EXPECT_EQ(of(bytes, Rule::greedy)[1].why, "900 pages cached: copied by the greedy rule");
  EXPECT_EQ(of(bytes, Rule::overlapped)[1].why,
            "900 pages cached: copied while transfers are in flight");
  EXPECT_NE(of(bytes, Rule::greedy)[2].why.find("taken along: by the greedy rule"),
            std::string::npos);
}

TEST_F(Explain, covers_every_page_of_every_plan) {
  std::mt19937_64 random(1);
  for (int kind = 0; kind < 8; ++kind) {
    const Bytes bytes = random_residency(random, 2048);
    for (const Rule rule : {Rule::exact, Rule::greedy, Rule::split, Rule::overlapped}) {
      std::uint32_t next = 0;
      for (const Segment& segment : of(bytes, rule)) {
        EXPECT_EQ(segment.range.first, next);
        next = segment.range.last;
        EXPECT_FALSE(segment.why.empty());
        EXPECT_GT(segment.us, 0);
        EXPECT_TRUE(!segment.from_cache || segment.cached == segment.range.pages());
      }
      EXPECT_EQ(next, 2048u);
    }
  }
}

}  // namespace
}  // namespace k2k::router
