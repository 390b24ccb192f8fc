// Goal: the policy's own code comes within 5 % of the best fixed setting over the five shapes, in
// simulated time; the shapes have the rates they announce, and equal seeds give equal simulations.

#include "labs/interference/coalescing/model.hpp"

#include <gtest/gtest.h>

namespace k2k::labs::coalescing {
namespace {

using namespace std::chrono_literals;
// Adaptive coalescing learns for longer than on real threads: these tests check only the setting
// that it reaches.
Plan long_plan(std::uint64_t seed) { return {.rounds = 10, .warm_up = 20s, .seed = seed}; }

// A long simulation on one thread: ThreadSanitizer has nothing to find in it.
#if defined(K2K_TSAN)
constexpr bool too_long_here = true;
#else
constexpr bool too_long_here = false;
#endif

TEST(Shapes, are_traces_and_follow_from_their_seed) {
  for (const Shape& shape : shapes()) {
    const std::vector<TraceEvent> events = shape.events(1, 200ms);
    const auto trace = Trace::of(events);
    EXPECT_TRUE(trace.ok()) << shape.name << ": " << trace.error().message;
    ASSERT_GE(events.size(), 100u) << shape.name;
    const std::vector<TraceEvent> again = shape.events(1, 200ms);
    const std::vector<TraceEvent> other = shape.events(2, 200ms);
    ASSERT_EQ(again.size(), events.size());
    std::size_t same = 0;
    for (std::size_t event = 0; event < events.size(); ++event) {
      EXPECT_EQ(again[event].after_ns, events[event].after_ns);
      same += event < other.size() && other[event].after_ns == events[event].after_ns ? 1 : 0;
    }
    EXPECT_LT(same, events.size() / 2) << shape.name;
    EXPECT_EQ(find_shape(shape.name), &shape);
  }
  EXPECT_EQ(shapes().size(), 5u);
  EXPECT_EQ(find_shape("calm"), nullptr);
}

TEST(Shapes, come_at_the_rate_that_they_say) {
  const auto rate = [](const char* name) {
    return static_cast<double>(find_shape(name)->events(1, 1s).size());
  };
  EXPECT_NEAR(rate("sparse"), 2'000, 200);
  EXPECT_NEAR(rate("dense"), 100'000, 2'000);
  EXPECT_NEAR(rate("bursts"), 8'000, 1);
  EXPECT_NEAR(rate("on_off"), 26'000, 1'000);
}

TEST(Model, loses_no_request_and_repeats_itself) {
  const Plan plan{.rounds = 4, .slice = 50ms, .warm_up = 100ms};
  for (const Shape& shape : shapes()) {
    const Measured first = simulate(shape, plan, {});
    const Measured second = simulate(shape, plan, {});
    for (std::uint32_t round = 0; round < plan.rounds; ++round) {
      const auto events =
          static_cast<double>(shape.events(round_seed(plan, round), plan.slice).size());
      for (const Contender& one : first.rounds.fixed) {
        EXPECT_EQ(one.rounds[round].requests, events) << shape.name;
      }
      EXPECT_EQ(first.rounds.adaptive.rounds[round].requests, events) << shape.name;
      EXPECT_EQ(first.rounds.adaptive.rounds[round].cpu_ns,
                second.rounds.adaptive.rounds[round].cpu_ns);
    }
  }
}

// The reason to compare over several shapes: one setting for all shapes costs some of them much.
TEST(Model, has_no_setting_that_is_best_for_every_shape) {
  const Plan plan{.rounds = 4, .warm_up = 0s};
  std::vector<double> worst(fixed_settings().size(), 0);
  for (const Shape& shape : shapes()) {
    const Measured measured = simulate(shape, plan, {});
    const Comparison seen = compare(measured.rounds, 200e3);
    const double best = sum_of(measured.rounds.fixed[seen.best].rounds).cost_ns();
    for (std::size_t setting = 0; setting < worst.size(); ++setting) {
      const Slice sum = sum_of(measured.rounds.fixed[setting].rounds);
      const bool eligible = sum.mean_delay_ns() <= 200e3;
      worst[setting] = std::max(worst[setting], eligible ? sum.cost_ns() / best : 100.0);
    }
  }
  for (const double one : worst) EXPECT_GT(one, 1.05);
}

TEST(Model, adaptive_comes_within_five_percent_of_the_best_over_five_shapes) {
  if (too_long_here) GTEST_SKIP() << "simulated on one thread";
  for (const Shape& shape : shapes()) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Plan plan = long_plan(seed);
      const Comparison seen = compare(simulate(shape, plan, {}).rounds, 1e3 * plan.delay_us);
      EXPECT_LE(seen.ratio.mean, 1 + tolerance) << shape.name << ", seed " << seed;
      EXPECT_FALSE(seen.delayed || seen.unbounded) << shape.name << ", seed " << seed;
    }
  }
}

TEST(Model, a_smaller_bound_is_kept_too) {
  if (too_long_here) GTEST_SKIP() << "simulated on one thread";
  for (const Shape& shape : shapes()) {
    Plan plan = long_plan(1);
    plan.delay_us = 70;
    const Comparison seen = compare(simulate(shape, plan, {}).rounds, 1e3 * plan.delay_us);
    EXPECT_FALSE(seen.delayed) << shape.name;
  }
}

}  // namespace
}  // namespace k2k::labs::coalescing
