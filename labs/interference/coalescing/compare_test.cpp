// Goal: the comparison finds a difference that is known, is not misled by the luck of the best of
// many settings, and reports when the measurements decide nothing.

#include "labs/interference/coalescing/compare.hpp"

#include <gtest/gtest.h>

#include "labs/interference/governor/random.hpp"

namespace k2k::labs::coalescing {
namespace {

using bench::Verdict;
using labs::governor::Random;

constexpr double bound_ns = 200e3;

// Costs in microseconds; each round's cost varies by the fraction `noise`.
Contender contender(Random& random, double cost_us, double delay_us, double noise, int rounds) {
  Contender one;
  for (int round = 0; round < rounds; ++round) {
    const double off = 1 + noise * random.normal();
    one.rounds.push_back({1e3 * cost_us * 1e3 * off, 1e3, 1e3 * delay_us * 1e3});
  }
  return one;
}

TEST(Comparison, takes_the_cheapest_that_keeps_the_bound) {
  Random random(1);
  const Rounds rounds = {{contender(random, 10, 2, 0, 6), contender(random, 5, 90, 0, 6),
                          contender(random, 3, 201, 0, 6)},
                         contender(random, 5.1, 80, 0, 6)};
  const Comparison seen = compare(rounds, bound_ns);
  EXPECT_EQ(seen.best, 1u);
  EXPECT_NEAR(seen.ratio.mean, 1.02, 1e-9);
  EXPECT_NEAR(seen.ratio.low, 1.02, 1e-6);
  EXPECT_NEAR(seen.ratio.high, 1.02, 1e-6);
  EXPECT_EQ(seen.judgement.verdict, Verdict::met);
  EXPECT_FALSE(seen.delayed || seen.unbounded);
}

TEST(Comparison, is_missed_met_or_undecided) {
  const auto verdict = [](double adaptive_us, double noise) {
    Random random(7);
    const Rounds rounds = {{contender(random, 5, 2, noise, 12)},
                           contender(random, adaptive_us, 2, noise, 12)};
    return compare(rounds, bound_ns).judgement.verdict;
  };
  EXPECT_EQ(verdict(5.1, 0.01), Verdict::met);
  EXPECT_EQ(verdict(5.5, 0.01), Verdict::missed);
  EXPECT_EQ(verdict(5.25, 0.01), Verdict::cannot_tell);
  EXPECT_EQ(verdict(5.1, 0.2), Verdict::cannot_tell);
}

TEST(Comparison, that_breaks_the_bound_is_missed_whatever_it_costs) {
  Random random(1);
  const Rounds rounds = {{contender(random, 10, 2, 0, 4)}, contender(random, 1, 201, 0, 4)};
  const Comparison seen = compare(rounds, bound_ns);
  EXPECT_TRUE(seen.delayed);
  EXPECT_EQ(seen.judgement.verdict, Verdict::missed);
}

TEST(Comparison, where_no_setting_keeps_the_bound_is_with_no_coalescing) {
  Random random(1);
  const Rounds rounds = {{contender(random, 10, 300, 0, 4), contender(random, 5, 400, 0, 4)},
                         contender(random, 10, 300, 0, 4)};
  const Comparison seen = compare(rounds, bound_ns);
  EXPECT_TRUE(seen.unbounded);
  EXPECT_FALSE(seen.delayed);
  EXPECT_EQ(seen.best, 0u);
  EXPECT_EQ(seen.judgement.verdict, Verdict::met);
}

// All contenders are equal: the cheapest of nine in the compared rounds would be cheapest by luck.
TEST(Comparison, is_not_fooled_by_the_luck_of_the_best) {
  Random random(3);
  double sum = 0;
  int covered = 0;
  constexpr int runs = 400;
  for (int run = 0; run < runs; ++run) {
    Rounds rounds;
    for (int setting = 0; setting < 9; ++setting) {
      rounds.fixed.push_back(contender(random, 5, 2, 0.1, 10));
    }
    rounds.adaptive = contender(random, 5, 2, 0.1, 10);
    const Comparison seen = compare(rounds, bound_ns);
    sum += seen.ratio.mean;
    covered += seen.ratio.low <= 1 && seen.ratio.high >= 1 ? 1 : 0;
  }
  EXPECT_NEAR(sum / runs, 1, 0.01);
  EXPECT_GE(covered, runs * 9 / 10);
}

}  // namespace
}  // namespace k2k::labs::coalescing
