// Goal: SPIN's rule, exactly, in both readings.
// Method: the rule as written in the paper, over a list of ranges, in floating point.

#include <gtest/gtest.h>

#include "labs/routing/baselines.hpp"
#include "labs/routing/patterns.hpp"
#include "router/plan/planner_fixture.hpp"

namespace k2k::labs::routing {
namespace {

using namespace router;

std::vector<Range> by_the_paper(const Model& model, Residency residency, Preceding preceding) {
  const auto pages = static_cast<std::uint32_t>(residency.size());
  const std::vector<Range> runs = runs_by_page(residency);
  if (runs.size() == 1 && runs[0].pages() == pages) return runs;
  std::vector<Range> cached;
  for (std::size_t at = 0; at < runs.size(); ++at) {
    const std::uint32_t before = at == 0 ? 0 : runs[at - 1].last;
    const std::uint32_t transfer = cached.empty() ? 0 : cached.back().last;
    const std::uint32_t a = runs[at].first - (preceding == Preceding::range ? before : transfer);
    const std::uint32_t b = runs[at].pages();
    const std::uint32_t c = (at + 1 < runs.size() ? runs[at + 1].first : pages) - runs[at].last;
    const bool direct = double{page_bytes} * (a + b) < model.cutoff_bytes ||
                        direct_us(model, a + b + c) <
                            direct_us(model, a) + cache_us(model, b) + direct_us(model, c);
    if (!direct) cached.push_back(runs[at]);
  }
  return cached;
}

TEST(Greedy, is_the_papers_rule_in_both_readings) {
  std::mt19937_64 random(1);
  bool differ = false;
  for (const Model& model : models()) {
    Baselines baselines(costs_of(model).value(), 2048);
    for (const Pattern& pattern : patterns()) {
      for (int round = 0; round < 20; ++round) {
        Bytes bytes(1 + random() % 2048);
        pattern.fill(random, bytes);
        for (const Preceding preceding : {Preceding::transfer, Preceding::range}) {
          const Plan plan = baselines.greedy(bytes, preceding);
          const std::vector<Range> wanted = by_the_paper(model, bytes, preceding);
          ASSERT_EQ(std::vector(plan.cached.begin(), plan.cached.end()), wanted);
        }
        differ |= by_the_paper(model, bytes, Preceding::transfer) !=
                  by_the_paper(model, bytes, Preceding::range);
      }
    }
  }
  EXPECT_TRUE(differ);
}

TEST(Greedy, is_never_faster_than_the_exact_schedule) {
  std::mt19937_64 random(2);
  bool slower = false;
  Planner planner = Planner::create({}, 2048).value();
  Baselines baselines(planner.costs(), 2048);
  for (const Pattern& pattern : patterns()) {
    for (int round = 0; round < 100; ++round) {
      Bytes bytes(2048);
      pattern.fill(random, bytes);
      const Ticks exact = times_of(planner.costs(), planner.exact(bytes)).serial();
      const Ticks greedy = times_of(planner.costs(), baselines.greedy(bytes)).serial();
      ASSERT_GE(greedy, exact);
      slower |= greedy > exact;
    }
  }
  EXPECT_TRUE(slower);
}

TEST(Greedy, takes_a_request_that_is_cached_entirely_from_the_cache) {
  Baselines baselines(costs_of({}).value(), 64);
  EXPECT_EQ(baselines.greedy(Bytes(64, 1)).cached[0], (Range{0, 64}));
  EXPECT_TRUE(baselines.greedy(Bytes(64, 0)).cached.empty());
  EXPECT_EQ(baselines.greedy({}).pages, 0u);
}

}  // namespace
}  // namespace k2k::labs::routing
