// Goal: the simulated machine serves as fast as the one that it stands for where that is stated,
// and its cores sleep where nothing wakes them.

#include "labs/interference/apu/apu.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "labs/interference/apu/statements.hpp"

namespace k2k::labs::apu {
namespace {

constexpr double some_s = 0.05;

Outcome of(const Apu& apu, const Setting& setting = {}, std::uint64_t seed = 1) {
  return simulate(apu, setting, some_s, seed);
}

TEST(Apu, a_lone_fault_takes_the_stated_time_if_no_core_sleeps) {
  Apu apu;
  apu.outstanding = 1;
  apu.entry_us = 1e9;
  EXPECT_NEAR(of(apu).latency_us, apu.alone_us, 0.05);
  EXPECT_EQ(of(apu).asleep, 0);
  apu.entry_us = 0;
  EXPECT_GT(of(apu).latency_us, apu.alone_us + apu.exit_us) << "a core that sleeps answers later";
}

TEST(Apu, many_faults_are_served_at_the_stated_rate) {
  Apu apu;
  apu.background_us = 0.01;
  // Where no interrupt comes to the worker's core.
  EXPECT_NEAR(of(apu, {.steer = true}).faults_per_ms, apu.saturated_per_ms,
              0.01 * apu.saturated_per_ms);
  // A quarter of the top halves runs there otherwise.
  const Outcome path = of(apu);
  EXPECT_NEAR(path.faults_per_ms,
              1e3 / (apu.worker_us() + path.interrupts * apu.stage_us() / apu.cores), 3);
  // Little's law: those outstanding, but for the GPU's own gap.
  EXPECT_NEAR(path.latency_us * path.faults_per_ms / 1e3, apu.outstanding, 1);
}

TEST(Apu, every_fault_is_served_under_every_setting) {
  for (const bool steer : {false, true}) {
    for (const bool coalesce : {false, true}) {
      for (const bool monolithic : {false, true}) {
        for (const std::uint32_t outstanding : {1u, 2u, 5u, 64u}) {
          Apu apu;
          apu.outstanding = outstanding;
          const Outcome path = of(apu, {steer, coalesce, monolithic});
          // None is forgotten in the log: then the rate would fall to 0.
          EXPECT_GT(path.faults_per_ms, 20 * outstanding / (outstanding + 4.0))
              << steer << coalesce << monolithic << outstanding;
          EXPECT_LE(path.interrupts, 1.01);
        }
      }
    }
  }
}

TEST(Apu, without_faults_the_cores_sleep_as_stated) {
  Apu apu;
  apu.outstanding = 0;
  for (const double entry_us : {0.0, 20.0, 50.0, 200.0}) {
    apu.entry_us = entry_us;
    EXPECT_NEAR(simulate(apu, {}, 5, 1).asleep, apu.asleep_without, 0.01) << entry_us;
  }
}

TEST(Apu, steered_interrupts_let_the_other_cores_sleep) {
  const Apu apu;
  EXPECT_LT(of(apu).asleep, 0.01) << "each core has an interrupt every 15 us";
  EXPECT_NEAR(of(apu, {.steer = true}).asleep, apu.asleep_without / 2, 0.03) << "two of four";
}

TEST(Apu, coalesced_faults_share_interrupts_and_monolithic_ones_need_no_wake_up) {
  const Apu apu;
  EXPECT_LT(of(apu, {.coalesce = true}).interrupts, 0.6 * of(apu).interrupts);
  EXPECT_LT(of(apu, {.monolithic = true}).between_cores, of(apu).between_cores);
  EXPECT_LT(of(apu, {.monolithic = true}).host_us, of(apu).host_us);
}

TEST(Apu, a_fault_before_the_monolithic_top_half_runs_raises_no_interrupt) {
  for (const bool steer : {false, true}) {
    EXPECT_LT(of({}, {.steer = steer, .monolithic = true}).interrupts, 0.99) << steer;
  }
}

TEST(Apu, equal_seeds_give_equal_outcomes) {
  const Outcome one = of({}, {}, 3);
  const Outcome other = of({}, {}, 3);
  EXPECT_EQ(one.asleep, other.asleep);
  EXPECT_EQ(one.faults_per_ms, other.faults_per_ms);
  EXPECT_NE(one.asleep, of({}, {}, 4).asleep);
}

TEST(Apu, a_run_without_a_setting_sleeps_as_it_was_fitted) {
  const Apu apu;
  const Outcome usual = of(apu);
  EXPECT_NEAR(asleep_in_a_run(apu, usual, usual), apu.asleep_default, 1e-9);
  Outcome fast = usual;
  fast.faults_per_ms *= 2;
  EXPECT_GT(asleep_in_a_run(apu, fast, usual), apu.asleep_default) << "faults take less of the run";
}

TEST(ApuStatements, follow_only_if_they_do_so_under_every_assumption) {
  Statement statement{.paper = 0.5, .tolerance = 0.05};
  const auto verdict = [&](double low, double high) {
    statement.ours = {low, (low + high) / 2, high};
    return verdict_of(statement);
  };
  EXPECT_STREQ(verdict(0.46, 0.54), "reproduced");
  EXPECT_STREQ(verdict(0.3, 0.44), "not reproduced");
  EXPECT_STREQ(verdict(0.56, 0.7), "not reproduced");
  EXPECT_STREQ(verdict(0.44, 0.54), "cannot tell");
  statement.at_least = true;
  EXPECT_STREQ(verdict(0.56, 0.7), "reproduced");
  EXPECT_STREQ(verdict(0.3, 0.44), "not reproduced");
}

TEST(ApuStatements, each_names_its_section_and_none_is_what_the_model_was_fitted_to) {
  const std::vector<Statement> all = statements(0.01);
  EXPECT_GE(all.size(), 7u);
  for (const Statement& one : all) {
    EXPECT_FALSE(one.section.empty() || one.says.empty()) << one.id;
    EXPECT_LE(one.ours.low, one.ours.mean) << one.id;
    EXPECT_LE(one.ours.mean, one.ours.high) << one.id;
    EXPECT_TRUE(one.id != "sleep-without" && one.id != "sleep-default");
  }
}

}  // namespace
}  // namespace k2k::labs::apu
