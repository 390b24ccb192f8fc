// Goal: a plan has the comparisons that its words name, and refuses words that it does not know.

#include "labs/interference/harm/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "labs/interference/harm/outcomes_fixture.hpp"

namespace k2k::labs::harm {
namespace {

TEST(HarmPlan, compares_a_kernel_with_no_no_ops) {
  const std::vector<Victim> victims = {{.name = "single", .loop = "single"}};
  const auto kinds_of = [&](const char* source) {
    const auto all = comparisons_of({.sources = {source}, .settings = {"staged"}}, victims, {});
    EXPECT_TRUE(all.ok());
    return std::count_if(all.value().begin(), all.value().end(),
                         [](const Comparison& one) { return one.kind == Kind::no_op; });
  };
  EXPECT_EQ(kinds_of(kernel_source), 0);
  EXPECT_EQ(kinds_of("ubench"), 1);
}

TEST(HarmPlan, refuses_unknown_victims_and_settings_with_the_known_ones) {
  EXPECT_NE(victims_of({.victims = {"singel"}}, "", 1)
                .error()
                .message.find("victim 'singel' does not exist; there are single, compute"),
            std::string::npos);
  StudyOptions options;
  EXPECT_NE(comparisons_of({.settings = {"staged+fast"}}, {}, options)
                .error()
                .message.find("has no word 'fast'; there are default, staged"),
            std::string::npos);
  EXPECT_FALSE(comparisons_of({.settings = {"cap=0"}}, {}, options).ok());
  EXPECT_FALSE(comparisons_of({.settings = {"governor=best"}}, {}, options).ok());
  EXPECT_FALSE(comparisons_of({.sources = {"nothing"}}, {}, options).ok());
  const auto usual = victims_of({}, "", 2);
  ASSERT_TRUE(usual.ok());
  EXPECT_EQ(usual.value().size(), all_victims("", 2).size());
}

TEST(HarmPlan, of_a_whole_study_has_programs_beside_programs_and_devices_beside_some_victims) {
  const auto victims = victims_of({}, "", 2);
  ASSERT_TRUE(victims.ok());
  const auto whole = comparisons_of({}, victims.value(), {});
  ASSERT_TRUE(whole.ok());
  std::set<std::string> by_programs;
  std::set<std::string> by_devices;
  for (const Comparison& one : whole.value()) {
    if (one.source == "sssp") {
      EXPECT_EQ(one.kind, Kind::service);
      by_programs.insert(one.victim.name);
    }
    if (one.setting.find("devices=16") != std::string::npos) by_devices.insert(one.victim.name);
  }
  EXPECT_TRUE(by_programs.contains("x264"));
  EXPECT_FALSE(by_programs.contains("compute")) << "a loop is no program";
  EXPECT_EQ(by_devices, (std::set<std::string>{"single", "compute", "zstd"}));

  const auto idle = [&](bool shown) {
    StudyOptions options;
    options.sleep_shown = shown;
    const auto all = comparisons_of({}, victims.value(), options);
    return std::count_if(all->begin(), all->end(),
                         [](const Comparison& one) { return one.kind == Kind::idle; });
  };
  EXPECT_EQ(idle(false), 1);
  EXPECT_GT(idle(true), 8) << "each setting without devices";

  const auto named = comparisons_of({.sources = {"ubench"}, .settings = {"default+devices=2"}},
                                    victims.value(), {});
  ASSERT_TRUE(named.ok());
  for (const Comparison& one : named.value()) EXPECT_EQ(one.source, "ubench");
  EXPECT_TRUE(std::any_of(named->begin(), named->end(), [](const Comparison& one) {
    return one.victim.name == "x264" && one.kind == Kind::service;
  })) << "settings that were named are those of every victim";
}

TEST(HarmPlan, equal_arms_may_differ_as_often_as_by_chance) {
  std::vector<Outcome> outcomes;
  for (int victim = 0; victim < 3; ++victim) {
    outcomes.push_back(outcome_of("compute", Kind::a_a, "staged", 1.0, 500));
  }
  outcomes.push_back(outcome_of("compute", Kind::service, "staged", 2.0, 500));
  outcomes[3].figures.inflation = {0.1, 0.2, 0.3, 10};
  EXPECT_EQ(equal_arms_of(outcomes).intervals, 6u);
  EXPECT_EQ(equal_arms_of(outcomes).beside_0, 0u);
  outcomes[0].figures.inflation = {0.01, 0.02, 0.03, 10};
  EXPECT_TRUE(equal_arms_of(outcomes).sound()) << "one of six, by chance";
  outcomes[1].figures.delay = {-0.03, -0.02, -0.01, 10};
  EXPECT_FALSE(equal_arms_of(outcomes).sound()) << "two of six";
  EXPECT_EQ(json_of(equal_arms_of(outcomes))["beside_0"], 2);
}

TEST(HarmPlan, gives_each_comparison_as_many_pairs_whatever_a_pair_costs) {
  StudyOptions options;
  options.run_s = 1;
  options.run_limited_s = 4;
  options.settling_auto_s = 3;
  const auto with = [](const char* setting) {
    return Comparison{{.name = "single"}, "ubench", Kind::service, setting};
  };
  const double limited = cost_of(with("default+devices=2+limit=5%"), options);
  EXPECT_GE(limited, options.run_limited_s + options.settling_limited_s);
  EXPECT_EQ(cost_of(with("no such word"), options), 1) << "it is refused later";
  const std::vector<Comparison> all = {with("staged"), with("default+loss=5%"),
                                       with("default+devices=2+limit=5%"), with("staged")};
  const std::vector<double> parts = parts_of(all, options);
  ASSERT_EQ(parts.size(), all.size());
  double left_s = 600;
  std::vector<double> pairs;
  for (std::size_t at = 0; at < all.size(); ++at) {
    pairs.push_back(left_s * parts[at] / cost_of(all[at], options));
    left_s -= left_s * parts[at];
    EXPECT_NEAR(pairs[at], 600 / (1 + 4 + limited + 1), 1e-9) << all[at].setting;
  }
  EXPECT_NEAR(left_s, 0, 1e-9);
  EXPECT_TRUE(parts_of({}, options).empty());
}

}  // namespace
}  // namespace k2k::labs::harm
