// Goal: `auto` is judged on victims that its constant was not taken from.

#include "labs/interference/harm/leave_one_out.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "governor/loss_filter.hpp"
#include "labs/interference/harm/outcomes_fixture.hpp"

namespace k2k::labs::harm {
namespace {

using nlohmann::ordered_json;

Outcome losing(const char* victim, const char* setting, double loss, double share) {
  Outcome outcome = outcome_of(victim, Kind::service, setting, 1 / (1 - loss), 100);
  outcome.figures.share = {share, share, share, 10};
  return outcome;
}

TEST(HarmAuto, is_judged_by_the_constant_that_the_other_victims_give) {
  std::vector<Outcome> outcomes = {
      losing("compute", "default+cap=5%", 0.055, 0.05),  // A factor of 1.1,
      losing("cache", "default+cap=5%", 0.08, 0.05),     // 1.6,
      losing("stencil", "default+cap=5%", 0.125, 0.05),  // and 2.5.
      losing("single", "default+cap=5%", 0.001, 0.05),   // One thread: no factor.
      losing("compute", "default+loss=5%", 0.048, 0.04),
      losing("cache", "default+loss=5%", 0.056, 0.035),
      losing("stencil", "default+loss=5%", 0.09, 0.035),
      losing("single", "default+loss=5%", 0.001, 0.04)};
  for (Outcome& one : outcomes) {
    one.comparison.victim.one_thread = one.comparison.victim.name == "single";
  }
  const std::vector<AutoPoint> points = auto_points_of(outcomes);
  ASSERT_EQ(points.size(), 1u);
  const AutoPoint& point = points[0];
  EXPECT_EQ(point.setting, "default+loss=5%");
  EXPECT_EQ(point.loss_max, 0.05);
  ASSERT_EQ(point.victims.size(), 4u);
  const double unseen = k2k::governor::LossFilter::unseen;
  EXPECT_NEAR(point.victims[0].factor, 1.1, 1e-9);
  EXPECT_NEAR(point.victims[0].constant, std::sqrt(1.6 * 2.5), 1e-9) << "not its own factor";
  EXPECT_NEAR(point.victims[0].scaled_high, 0.048 * unseen / 2, 1e-9);
  EXPECT_TRUE(point.victims[0].kept);
  EXPECT_TRUE(point.victims[1].kept) << "0.056 is above 0.055, but the others' constant is 1.66";
  EXPECT_NEAR(point.victims[2].constant, std::sqrt(1.1 * 1.6), 1e-9);
  EXPECT_FALSE(point.victims[2].kept) << "0.081";
  EXPECT_EQ(point.victims[3].factor, 0);
  EXPECT_EQ(point.kept(), 3u);
  EXPECT_EQ(point.exceeded(), 1u);
  EXPECT_EQ(point.verdict(), bench::Verdict::missed) << "three of four are fewer than eight of ten";
  const ordered_json json = json_of(point);
  EXPECT_EQ(json["verdict"], "missed");
  EXPECT_TRUE(json["victims"][3]["factor"].is_null());
  outcomes.pop_back();
  EXPECT_EQ(auto_points_of(outcomes)[0].victims.size(), 3u);
}

TEST(HarmAuto, that_cuts_the_rate_for_a_victim_that_loses_little_throttles_for_somebody_else) {
  const auto needless = [](double loss, double rate) {
    Outcome base = losing("compute", "default", 0.3, 0.5);
    Outcome governed = losing("compute", "default+loss=5%", loss, 0.04);
    base.figures.rate_level = {std::log(1000), std::log(1000), std::log(1000), 10};
    governed.figures.rate_level = {std::log(rate), std::log(rate), std::log(rate), 10};
    const std::vector<AutoPoint> points = auto_points_of({base, governed});
    EXPECT_NEAR(points[0].victims[0].rate, rate / 1000, 1e-9);
    EXPECT_EQ(json_of(points[0])["needless"], points[0].needless());
    return points[0].victims[0].needless;
  };
  EXPECT_TRUE(needless(0.01, 100));
  EXPECT_FALSE(needless(0.01, 950)) << "it did not throttle";
  EXPECT_FALSE(needless(0.04, 100)) << "the victim needed it";
  const auto alone = auto_points_of({losing("compute", "default+loss=5%", 0.01, 0.04)});
  EXPECT_EQ(alone[0].victims[0].rate, 0) << "nothing to compare with";
  EXPECT_FALSE(alone[0].victims[0].needless);
}

TEST(HarmAuto, cannot_be_judged_by_intervals_on_both_sides_of_the_permitted_loss) {
  std::vector<Outcome> outcomes(5, losing("compute", "default+loss=5%", 0.01, 0.04));
  for (std::size_t wide = 0; wide < 2; ++wide) outcomes[wide].figures.wall.high = 0.2;
  const AutoPoint open = auto_points_of(outcomes)[0];
  EXPECT_EQ(open.kept(), 3u);
  EXPECT_EQ(open.exceeded(), 0u);
  EXPECT_EQ(open.verdict(), bench::Verdict::cannot_tell);
  for (std::size_t wide = 0; wide < 2; ++wide) outcomes[wide].figures.wall.low = 0.1;
  EXPECT_EQ(auto_points_of(outcomes)[0].verdict(), bench::Verdict::missed);
}

TEST(HarmAuto, has_its_own_constant_without_budgets_and_no_point_without_auto) {
  const auto points = auto_points_of({losing("compute", "default+loss=1%", 0.012, 0.01)});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].victims[0].constant, k2k::governor::LossFilter::unseen);
  EXPECT_NEAR(points[0].victims[0].scaled_high, 0.012, 1e-9);
  EXPECT_EQ(points[0].verdict(), bench::Verdict::met);
  EXPECT_TRUE(auto_points_of({losing("compute", "default+cap=1%", 0.012, 0.01)}).empty());
}

}  // namespace
}  // namespace k2k::labs::harm
