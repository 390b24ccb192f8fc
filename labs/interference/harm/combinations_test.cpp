// Goal: settings are compared over the victims that both have, by whole intervals.

#include "labs/interference/harm/combinations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "labs/interference/harm/outcomes_fixture.hpp"

namespace k2k::labs::harm {
namespace {

using nlohmann::ordered_json;

std::map<std::string, SettingPoint> points_by_setting(const std::vector<Outcome>& outcomes) {
  std::map<std::string, SettingPoint> all;
  for (const SettingPoint& one : points_of(outcomes)) all.emplace(one.setting, one);
  return all;
}

TEST(HarmSettings, are_compared_with_what_remains_without_their_cap) {
  EXPECT_EQ(base_of("staged+cap=1%+governor=backoff"), "staged");
  EXPECT_EQ(base_of("default+devices=8+limit=5%"), "default");
  EXPECT_EQ(base_of("loss=5%"), "default");
  EXPECT_EQ(base_of("monolithic+steer"), "monolithic+steer");
}

TEST(HarmSettings, the_front_has_the_combinations_that_no_other_beats) {
  const auto all = points_by_setting(
      {outcome_of("compute", Kind::service, "staged", 2.0, 500),
       outcome_of("compute", Kind::service, "monolithic", 1.5, 1500),
       outcome_of("compute", Kind::service, "staged+steer", 1.2, 300),
       outcome_of("compute", Kind::service, "split", 1.6, 400),
       outcome_of("compute", Kind::service, "staged+cap=1%+governor=backoff", 1.02, 25)});
  EXPECT_TRUE(all.at("monolithic").front);
  EXPECT_TRUE(all.at("staged+steer").front) << "it harms least";
  EXPECT_FALSE(all.at("staged").front);
  EXPECT_FALSE(all.at("split").front);
  EXPECT_TRUE(all.at("monolithic").dominates);
  EXPECT_FALSE(all.at("staged+steer").dominates) << "it serves less";
  const SettingPoint& governed = all.at("staged+cap=1%+governor=backoff");
  EXPECT_FALSE(governed.combination);
  EXPECT_FALSE(governed.front);
  EXPECT_EQ(governed.base, "staged");
  EXPECT_NEAR(governed.rate_to_base.mean, 0.05, 1e-9);
  EXPECT_NEAR(governed.wall.mean, 1.02, 1e-9);
  Outcome ticking =
      outcome_of("compute", Kind::service, "staged+cap=1%+governor=backoff", 1.02, 25);
  ticking.figures.mean_governor_share = 0.9;
  EXPECT_EQ(json_of(points_of({ticking})[0])["governor_share"], 0.9) << "the ticker, apart";
}

TEST(HarmSettings, dominate_only_by_whole_intervals_and_over_the_victims_that_both_have) {
  Outcome better = outcome_of("compute", Kind::service, "monolithic", 1.5, 1500);
  better.figures.wall.high = std::log(6.0);
  const auto all =
      points_by_setting({outcome_of("compute", Kind::service, "staged", 2.0, 500),
                         outcome_of("single", Kind::service, "staged", 3.0, 500), better});
  EXPECT_FALSE(all.at("monolithic").dominates);
  EXPECT_TRUE(all.at("monolithic").front);
  EXPECT_NEAR(all.at("monolithic").wall_to_base.mean, 0.75, 1e-9) << "compute alone";
  EXPECT_NEAR(all.at("staged").wall.mean, std::sqrt(6.0), 1e-9);
  const auto lonely =
      points_by_setting({outcome_of("compute", Kind::service, "default+cap=1%", 1.1, 5)});
  EXPECT_EQ(lonely.at("default+cap=1%").rate_to_base.rounds, 0u) << "its base is not there";
}

TEST(HarmSettings, devices_keep_a_limit_or_exceed_it) {
  const auto shared = [](const char* setting, double share) {
    Outcome outcome = outcome_of("compute", Kind::service, setting, 1.1, 100);
    outcome.figures.share = {share, share, share, 10};
    return json_of(points_of({outcome})[0]);
  };
  const ordered_json kept = shared("default+devices=16+limit=5%", 0.054);
  EXPECT_EQ(kept["devices"], 16);
  EXPECT_EQ(kept["limit"], 0.05);
  EXPECT_NEAR(kept["of_limit"]["mean"].get<double>(), 1.08, 1e-3);
  EXPECT_EQ(kept["kept"], true);
  EXPECT_EQ(shared("default+devices=16+limit=5%", 0.056)["kept"], false);
  EXPECT_FALSE(shared("default", 0.5).contains("kept"));
}

}  // namespace
}  // namespace k2k::labs::harm
