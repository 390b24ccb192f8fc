// Goal: the bound holds until the canary has enough evidence; then the canary corrects it, within
// limits; and old measurements are forgotten.

#include "governor/loss_filter.hpp"

#include <gtest/gtest.h>

namespace k2k::governor {
namespace {

using namespace std::chrono_literals;

constexpr double unseen = LossFilter::unseen;

TEST(LossFilter, without_a_canary_is_the_smaller_of_pressure_and_share) {
  LossFilter filter;
  EXPECT_DOUBLE_EQ(filter.update(0.5, 0.05, {}), 0.05 * unseen);
  EXPECT_DOUBLE_EQ(filter.update(0.01, 0.05, {}), 0.01 * unseen);
  EXPECT_DOUBLE_EQ(filter.update(0, 0.05, {}), 0);
  EXPECT_DOUBLE_EQ(filter.update(-1, 0.05, {}), 0.05 * unseen) << "no pressure: the taken share";
}

TEST(LossFilter, ignores_a_canary_with_little_evidence) {
  LossFilter filter;
  // The canary lost half of 1 ms, ten times the expected loss.
  EXPECT_NEAR(filter.update(0.05, 0.05, {1ms, 500us}), 0.05 * unseen, 0.004);
}

TEST(LossFilter, follows_the_canarys_loss) {
  for (const double factor : {0.5, 1.25, 2.0}) {
    LossFilter filter;
    double loss = 0;
    for (int sample = 0; sample < 300; ++sample) {  // Half a minute, 7.5 ms a sample.
      const Nanoseconds lost(static_cast<std::int64_t>(7.5e6 * 0.05 * factor));
      loss = filter.update(0.9, 0.05, {7'500us, lost});
    }
    EXPECT_NEAR(loss / unseen, 0.05 * factor, 0.05 * 0.25 * std::max(1.0, factor)) << factor;
  }
}

TEST(LossFilter, never_strays_far_from_the_bound) {
  LossFilter filter;
  double loss = 0;
  for (int sample = 0; sample < 1000; ++sample) loss = filter.update(0.1, 0.1, {9ms, 9ms});
  EXPECT_DOUBLE_EQ(loss / unseen, 0.1 * LossFilter::correction_max);
  for (int sample = 0; sample < 5000; ++sample) loss = filter.update(0.9, 0.9, {9ms, 0ms});
  EXPECT_DOUBLE_EQ(loss / unseen, 0.9 * LossFilter::correction_min);
  for (int sample = 0; sample < 5000; ++sample) loss = filter.update(0.1, 0.1, {});
  EXPECT_NEAR(loss / unseen, 0.1, 1e-6) << "the old measurements are forgotten";
}

}  // namespace
}  // namespace k2k::governor
