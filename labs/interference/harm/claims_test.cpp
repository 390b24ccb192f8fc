// Goal: claims are judged by the figures that they name.

#include "labs/interference/harm/claims.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "labs/interference/harm/outcomes_fixture.hpp"

namespace k2k::labs::harm {
namespace {

std::map<std::string, Judged> judged(const std::vector<Outcome>& outcomes) {
  const Result<std::vector<Claim>> claims = all_claims();
  EXPECT_TRUE(claims.ok()) << claims.error().message;
  std::map<std::string, Judged> all;
  for (const Judged& one : judge_claims(claims.value(), outcomes)) all.emplace(one.claim.id, one);
  return all;
}

TEST(HarmClaims, are_judged_by_the_figures_that_they_name) {
  auto all = judged({outcome_of("single", Kind::service, "staged", 1.1, 500),
                     outcome_of("compute", Kind::service, "staged", 2.0, 500),
                     outcome_of("compute", Kind::service, "monolithic", 1.5, 1500),
                     outcome_of("none", Kind::idle, "staged", 1, 700),
                     outcome_of("compute", Kind::reverse, "staged", 1, 700)});
  EXPECT_EQ(all["cpu-loss-ubench-most"].verdict, "reproduced");
  EXPECT_EQ(all["cpu-loss-ubench-most"].note, "compute");
  EXPECT_NEAR(all["cpu-loss-ubench-most"].ours->mean, 2, 1e-9);
  EXPECT_EQ(all["cpu-loss-ubench-mean"].verdict, "reproduced") << "the root of 2.2";
  EXPECT_NEAR(all["cpu-loss-ubench-mean"].ours->mean, std::sqrt(2.2), 1e-9);
  EXPECT_EQ(all["single-threaded-suffers-less"].verdict, "reproduced");
  EXPECT_EQ(all["gpu-loss-most"].verdict, "reproduced") << "0.7 is below 0.82";
  EXPECT_EQ(all["monolithic-serves-faster"].verdict, "reproduced") << "3 times";
  EXPECT_EQ(all["monolithic-costs-more"].verdict, "not reproduced") << "it costs less here";
  EXPECT_EQ(all["interrupts-between-cores"].verdict, "not reproduced") << "2 times, not 477";
  EXPECT_EQ(all["sleep-lost"].verdict, "reproduced") << "80 to 10 %";
  EXPECT_NE(all["sleep-lost"].note.find("80.0 % to 10.0 %"), std::string::npos);
  EXPECT_EQ(all["caches"].verdict, "not measured");
  EXPECT_EQ(all["caches"].note, "needs the victim l1");
  EXPECT_EQ(all["cpu-loss-programs-most"].verdict, "not measured");
  EXPECT_EQ(all["coalescing-saves-interrupts"].verdict, "not measured");
}

TEST(HarmClaims, of_the_papers_programs_take_each_source_with_each_victim) {
  Outcome ubench = outcome_of("zstd", Kind::service, "staged", 3.0, 500);
  Outcome small = outcome_of("zstd", Kind::service, "staged", 1.1, 500);
  small.comparison.source = "bfs";
  Outcome large = outcome_of("x264", Kind::service, "staged", 1.6, 500);
  large.comparison.source = "sssp";
  Outcome other = outcome_of("x264", Kind::service, "staged", 5.0, 500);
  other.comparison.source = "heap";
  auto all = judged({ubench, small, large, other});
  EXPECT_EQ(all["cpu-loss-programs-most"].verdict, "reproduced") << "1.6 reaches 1.449";
  EXPECT_EQ(all["cpu-loss-programs-most"].note, "x264 beside sssp");
  EXPECT_NEAR(all["cpu-loss-programs-mean"].ours->mean, std::sqrt(1.1 * 1.6), 1e-9);
  EXPECT_EQ(all["cpu-loss-programs-mean"].note, "2 pairs of a victim and a source");
  EXPECT_EQ(all["cpu-loss-ubench-most"].note, "zstd");
}

TEST(HarmClaims, sleep_is_not_measurable_where_no_state_is_shown) {
  Outcome outcome = outcome_of("none", Kind::idle, "staged", 1, 700);
  outcome.figures.sleep_shown = false;
  const Judged sleep = judged({outcome})["sleep-lost"];
  EXPECT_EQ(sleep.verdict, "not measurable here");
  EXPECT_EQ(sleep.note, no_sleep_states);
  EXPECT_EQ(judged({outcome})["sleep-by-all-three"].verdict, "not measurable here")
      << "its setting was not measured, because no setting can be";
  outcome.figures.sleep_shown = true;
  outcome.figures.mean_asleep_before = 0.01;
  EXPECT_EQ(judged({outcome})["sleep-lost"].note, "other programs kept the cores awake");
}

TEST(HarmClaims, pollution_is_the_cpu_time_of_a_victim_that_uses_one_part_of_a_core) {
  Outcome chase = outcome_of("l1", Kind::service, "staged", 2.0, 500);
  chase.figures.inflation = {0.01, 0.02, 0.03, 10};
  Outcome branches = outcome_of("branchy", Kind::service, "staged", 2.0, 500);
  branches.figures.inflation = {-0.01, 0.001, 0.01, 10};
  auto all = judged({chase, branches});
  EXPECT_EQ(all["caches"].verdict, "reproduced");
  EXPECT_NEAR(all["caches"].ours->mean, std::exp(0.02), 1e-9);
  EXPECT_EQ(all["branches"].verdict, "cannot tell");
}

TEST(HarmClaims, pollution_is_what_hardware_counters_count_of_all_victims_where_there_are_any) {
  Outcome one = outcome_of("zstd", Kind::service, "staged", 2.0, 500);
  one.figures.cache_misses = {std::log(1.1), std::log(1.2), std::log(1.3), 10};
  Outcome other = outcome_of("x264", Kind::service, "staged", 2.0, 500);
  other.figures.cache_misses = one.figures.cache_misses;
  auto all = judged({one, other});
  EXPECT_EQ(all["caches"].verdict, "reproduced");
  EXPECT_NEAR(all["caches"].ours->mean, 1.2, 1e-9);
  EXPECT_EQ(all["caches"].note, "counted in user mode, 2 victims");
  EXPECT_EQ(all["branches"].note, "needs the victim branchy") << "no counter of branches";
}

TEST(HarmClaims, rates_of_settings_have_the_intervals_of_their_runs) {
  Outcome slow = outcome_of("compute", Kind::service, "staged", 2.0, 500);
  Outcome fast = outcome_of("compute", Kind::service, "monolithic", 2.0, 1'250);
  EXPECT_EQ(judged({slow, fast})["monolithic-serves-faster"].verdict, "reproduced");
  fast.figures.rate_level.low -= 0.5;
  fast.figures.rate_level.high += 0.5;
  EXPECT_EQ(judged({slow, fast})["monolithic-serves-faster"].verdict, "cannot tell");
}

TEST(HarmClaims, an_interval_around_the_target_cannot_tell) {
  Outcome outcome = outcome_of("compute", Kind::service, "staged", 1.8, 500);
  outcome.figures.wall.low = std::log(1.5);
  outcome.figures.wall.high = std::log(2.1);
  EXPECT_EQ(judged({outcome})["cpu-loss-ubench-most"].verdict, "cannot tell");
}

TEST(HarmClaims, a_wrong_file_is_refused_with_the_claim) {
  EXPECT_NE(parse_claims("[[claim]\n").error().message.find("claims.toml, line 1"),
            std::string::npos);
  EXPECT_NE(parse_claims("[[claim]]\nid='a'\n").error().message.find("claim 'a' lacks"),
            std::string::npos);
  const std::string base = "[[claim]]\nid='a'\nsection='I'\nsays='x'\n";
  EXPECT_NE(parse_claims(base + "figure='wrong'\n").error().message.find("there are loss, rate"),
            std::string::npos);
  EXPECT_NE(parse_claims(base + "figure='none'\n").error().message.find("no reason"),
            std::string::npos);
  EXPECT_NE(parse_claims(base + "figure='loss'\n").error().message.find("lacks its ratio"),
            std::string::npos);
  EXPECT_NE(parse_claims(base + "figure='inflation'\nratio=1.0\nsource='s'\nsetting='t'\n")
                .error()
                .message.find("needs a counter"),
            std::string::npos);
  const std::string whole = base + "figure='none'\nbecause='y'\n";
  EXPECT_NE(parse_claims(whole + whole).error().message.find("two claims"), std::string::npos);
}

}  // namespace
}  // namespace k2k::labs::harm
