// Goal: the rates are summed up as Graph500's specification says.

#include "apps/graph500/rates.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace k2k::graph500 {
namespace {

TEST(Rates, have_a_harmonic_mean) {
  const RateStatistics of_three = statistics_of({4, 1, 2});
  EXPECT_DOUBLE_EQ(of_three.harmonic_mean, 12.0 / 7);
  EXPECT_EQ(of_three.least, 1);
  EXPECT_EQ(of_three.median, 2);
  EXPECT_EQ(of_three.most, 4);
  // 1 / rate: 1, 1/2, 1/4, of mean 7/12 and of the sum of squares 7/24.
  EXPECT_DOUBLE_EQ(of_three.harmonic_deviation,
                   std::sqrt(7.0 / 24 / 2) / std::sqrt(2.0) * (12.0 / 7) * (12.0 / 7));
  EXPECT_EQ(statistics_of({1, 3}).median, 2);
}

TEST(Rates, of_one_search_do_not_vary) {
  const RateStatistics one = statistics_of({5});
  EXPECT_EQ(one.harmonic_mean, 5);
  EXPECT_EQ(one.harmonic_deviation, 0);
  EXPECT_EQ(one.median, 5);
}

}  // namespace
}  // namespace k2k::graph500
