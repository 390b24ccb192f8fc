// Goal: real threads get the right rows, each with the right duration, and the loss of CPU programs
// is the missing part of their rate alone.

#include "labs/interference/governor/real.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace k2k::labs::governor {
namespace {

using k2k::governor::Policy;

std::vector<std::pair<Policy, double>> listed(const std::vector<Policy>& policies,
                                              const std::vector<double>& caps) {
  std::vector<std::pair<Policy, double>> list;
  const auto cases = real_cases(policies, caps);
  EXPECT_TRUE(cases.ok()) << cases.error().message;
  for (const RealCase& one : cases.value()) list.emplace_back(one.policy, one.cap);
  return list;
}

TEST(RealCases, begin_with_none_and_have_both_policies_under_each_cap) {
  using List = std::vector<std::pair<Policy, double>>;
  EXPECT_EQ(listed({}, {}), (List{{Policy::none, 0},
                                  {Policy::budget, 0.01},
                                  {Policy::budget, 0.05},
                                  {Policy::budget, 0.25},
                                  {Policy::backoff, 0.01},
                                  {Policy::backoff, 0.05},
                                  {Policy::backoff, 0.25}}));
  EXPECT_EQ(listed({Policy::backoff}, {0.1}), (List{{Policy::backoff, 0.1}}));
  EXPECT_EQ(listed({Policy::budget, Policy::none}, {1}),
            (List{{Policy::none, 0}, {Policy::budget, 1}}));
}

TEST(RealCases, have_the_policies_with_sensors_when_they_are_named) {
  using List = std::vector<std::pair<Policy, double>>;
  EXPECT_EQ(listed({Policy::automatic, Policy::displaced, Policy::budget}, {0.05}),
            (List{{Policy::budget, 0.05}, {Policy::displaced, 0.05}, {Policy::automatic, 0.05}}));
}

TEST(RealCases, are_refused_with_a_cap_that_a_server_cannot_have) {
  for (const double cap : {0.0005, 0.0125, 0.00101}) {
    EXPECT_FALSE(real_cases({}, {cap}).ok()) << cap;
  }
  EXPECT_EQ(real_cases({}, {0.0125}).error().message,
            "--cap is 1.25 %; on real threads it is in steps of 0.1 %");
  for (int permille = 1; permille <= 1000; ++permille) {
    EXPECT_TRUE(real_cases({}, {permille / 1000.0}).ok()) << permille;
  }
}

TEST(RealCases, take_55_s_together_and_8_s_each) {
  const auto cases_of = [](std::size_t count, Policy policy) {
    return std::vector<RealCase>(count, RealCase{policy, 0.05});
  };
  EXPECT_EQ(real_seconds(cases_of(1, Policy::budget), true, false), 8);
  EXPECT_EQ(real_seconds(cases_of(5, Policy::backoff), false, false), 8);
  const auto usual = real_cases({}, {});
  ASSERT_TRUE(usual.ok());
  const double each = real_seconds(usual.value(), false, false);
  EXPECT_LE((each + reference_seconds) * 7 + bare_seconds * 2 * 3, 53.5);
  EXPECT_GT(each, 5.5);
  const auto many = cases_of(7, Policy::automatic);
  EXPECT_LE((real_seconds(many, true, true) + 2.6) * 7 + reference_seconds, 53.5);
  EXPECT_LE((real_seconds(many, true, false) + reference_seconds + bare_seconds * 2) * 7 +
                reference_seconds,
            53.5);
}

TEST(LossInPairs, is_the_missing_part_of_the_rate_alone) {
  const nlohmann::ordered_json none = loss_in_pairs({}, 1);
  EXPECT_TRUE(none["cpu_loss"].is_null());
  EXPECT_EQ(none["cpu_loss_pairs"], 0);
  const nlohmann::ordered_json one = loss_in_pairs({std::log(0.75)}, 1);
  EXPECT_NEAR(one["cpu_loss"].get<double>(), 0.25, 1e-4);
  EXPECT_TRUE(one["cpu_loss_low"].is_null()) << "one pair has no interval";
}

TEST(LossInPairs, has_an_interval_with_both_ends_in_order) {
  std::vector<double> rates;
  for (int pair = 0; pair < 20; ++pair) rates.push_back(std::log(0.9 + 0.02 * (pair % 3 - 1)));
  const nlohmann::ordered_json loss = loss_in_pairs(rates, 1);
  EXPECT_NEAR(loss["cpu_loss"].get<double>(), 0.1, 0.002);
  EXPECT_LT(loss["cpu_loss_low"], loss["cpu_loss"]);
  EXPECT_GT(loss["cpu_loss_high"], loss["cpu_loss"]);
  EXPECT_GT(loss["cpu_loss_low"], 0.08);
  EXPECT_LT(loss["cpu_loss_high"], 0.12);
  EXPECT_EQ(loss["cpu_loss_pairs"], 20);
}

}  // namespace
}  // namespace k2k::labs::governor
