// Goal: figures say what the runs say.

#include <gtest/gtest.h>

#include <cmath>

#include "labs/interference/harm/outcomes_fixture.hpp"
#include "labs/interference/harm/plan.hpp"
#include "labs/interference/harm/records.hpp"
#include "labs/interference/harm/study.hpp"

namespace k2k::labs::harm {
namespace {

using nlohmann::ordered_json;

TEST(HarmFigures, tell_stolen_time_from_inflation) {
  const OneRun a{.wall_s = 1, .cpu_s = 1, .run_delay_s = 0.1};
  const OneRun b{.wall_s = 1.5, .cpu_s = 1.1, .run_delay_s = 0.4};
  const Figures figures = figures_of(pairs_of(a, b, 10), Kind::service, {}, 1);
  EXPECT_NEAR(figures.inflation.mean, std::log(1.1), 1e-9);
  EXPECT_NEAR(figures.delay.mean, 0.3, 1e-9);
  EXPECT_NEAR(figures.wall.mean, std::log(1.5), 1e-9);
  EXPECT_NEAR(figures.occupied.mean, std::log(1.5 / 1.1), 1e-9);
  EXPECT_EQ(figures.end, End::precise);
}

TEST(HarmFigures, split_the_loss_into_stolen_time_and_pollution) {
  // One thread: 1.0 s alone, then 0.1 s of caches and 0.2 s on the run queue.
  const OneRun a{.wall_s = 1, .cpu_s = 0.95, .run_delay_s = 0.05};
  const OneRun b{.wall_s = 1.3, .cpu_s = 1.05, .run_delay_s = 0.25, .service_share = 0.1};
  const Figures figures = figures_of(pairs_of(a, b, 10), Kind::service, {}, 1);
  EXPECT_NEAR(figures.stolen.mean, 0.2, 1e-9);
  EXPECT_NEAR(figures.polluted.mean, 0.1, 1e-9);
  EXPECT_NEAR(figures.loss.mean, 0.3, 1e-9);
  EXPECT_NEAR(figures.share.mean, 0.1, 1e-9);
  Outcome outcome{.comparison = {{.name = "single"}, "ubench", Kind::service, "staged"}};
  outcome.figures = figures;
  outcome.figures.loss.low -= 1e-6;
  outcome.figures.loss.high += 1e-6;
  EXPECT_EQ(json_of(outcome)["decomposed"]["sum_in_interval"], true);
  outcome.figures.polluted.mean += 0.05;
  EXPECT_EQ(json_of(outcome)["decomposed"]["sum_in_interval"], false);
}

TEST(HarmFigures, compare_idle_states_with_the_idle_time_of_stat) {
  const OneRun a{.wall_s = 1, .asleep = 0.7, .polling = 0.1, .idle = 0.81};
  const OneRun b{.wall_s = 1, .asleep = 0.2, .polling = 0.0, .idle = 0.19};
  Outcome outcome{.comparison = {{.name = "none"}, "ubench", Kind::idle, "staged"}};
  outcome.figures = figures_of(pairs_of(a, b, 10), Kind::idle, {}, 1);
  EXPECT_NEAR(outcome.figures.idle_gap.mean, 0, 1e-9);
  EXPECT_EQ(outcome.figures.idle_gap.pairs, 20u) << "both sides count";
  EXPECT_EQ(json_of(outcome)["idle_states"]["agree"], true);
  outcome.figures.idle_gap.mean = -0.03;
  EXPECT_EQ(json_of(outcome)["idle_states"]["agree"], false);
  outcome.figures.mean_asleep_before = 0.01;
  EXPECT_TRUE(json_of(outcome)["idle_states"]["agree"].is_null()) << "the cores were never idle";
  outcome.figures.mean_asleep_before = 0.7;
  outcome.figures.idle_gap = {};
  EXPECT_TRUE(json_of(outcome)["idle_states"]["agree"].is_null()) << "no state is shown";
}

TEST(HarmFigures, leave_out_pairs_that_the_hypervisor_disturbed) {
  const OneRun quiet{.wall_s = 1, .cpu_s = 1};
  OneRun disturbed = quiet;
  disturbed.stolen = 2 * stolen_max;
  auto pairs = pairs_of(quiet, quiet, 10);
  pairs.emplace_back(quiet, disturbed);
  const Figures figures = figures_of(pairs, Kind::service, {.pairs_max = 11}, 1);
  EXPECT_EQ(figures.made, 11u);
  EXPECT_EQ(figures.discarded, 1u);
  EXPECT_EQ(figures.wall.pairs, 10u);
}

TEST(HarmFigures, of_idle_cores_end_by_their_sleep) {
  const OneRun a{.wall_s = 1, .asleep = 0.8, .idle = 0.81};
  const OneRun b{.wall_s = 1, .asleep = 0.2, .idle = 0.21};
  const Figures figures = figures_of(pairs_of(a, b, 10), Kind::idle, {}, 1);
  EXPECT_NEAR(figures.asleep.mean, -0.6, 1e-9);
  EXPECT_NEAR(figures.asleep_ratio.mean, std::log(0.25), 1e-9);
  EXPECT_NEAR(figures.mean_asleep_before, 0.8, 1e-9);
  EXPECT_NEAR(figures.mean_idle, 0.21, 1e-9);
  EXPECT_EQ(figures.end, End::precise);
  EXPECT_FALSE(figures_of(pairs_of({}, {}, 10), Kind::idle, {}, 1).sleep_shown);
}

TEST(HarmFigures, of_a_reverse_arm_end_by_the_rate) {
  std::vector<std::pair<OneRun, OneRun>> pairs;
  for (int at = 0; at < 12; ++at) {
    pairs.emplace_back(OneRun{.cpu_s = 1, .rate = 1000},
                       OneRun{.cpu_s = 1.0 + at % 3, .rate = 900});
  }
  EXPECT_EQ(figures_of(pairs, Kind::reverse, {}, 1).end, End::precise);
  EXPECT_EQ(figures_of(pairs, Kind::service, {}, 1).end, End::goes_on);
}

TEST(HarmFigures, compare_the_counts_of_both_sides) {
  OneRun a{.wall_s = 1, .cpu_s = 1};
  OneRun b = a;
  a.counts = {.cache_misses = 100, .branch_misses = -1};
  b.counts = {.cache_misses = 150, .branch_misses = 5};
  const Figures figures = figures_of(pairs_of(a, b, 4), Kind::service, {}, 1);
  EXPECT_NEAR(figures.cache_misses.mean, std::log(1.5), 1e-9);
  EXPECT_EQ(figures.branch_misses.pairs, 0u);
  const OneRun again = run_from(json_of(a));
  EXPECT_EQ(again.counts.cache_misses, 100);
  EXPECT_EQ(again.counts.branch_misses, -1);
}

}  // namespace
}  // namespace k2k::labs::harm
