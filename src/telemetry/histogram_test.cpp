// Goal: buckets tile the numbers without gap, and a quantile is within 12.5 % of the exact one.

#include "telemetry/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace k2k::telemetry {
namespace {

TEST(Buckets, are_inverse_to_their_floors_and_leave_no_gap) {
  for (std::uint32_t bucket = 0; bucket < histogram_buckets; ++bucket) {
    EXPECT_EQ(bucket_of(bucket_floor(bucket)), bucket);
    if (bucket == 0) continue;
    EXPECT_GT(bucket_floor(bucket), bucket_floor(bucket - 1));
    EXPECT_EQ(bucket_of(bucket_floor(bucket) - 1), bucket - 1);
  }
  EXPECT_EQ(bucket_of(0), 0u);
  EXPECT_EQ(bucket_of(~std::uint64_t{0}), histogram_buckets - 1);
}

TEST(Histogram, answers_zero_before_anything_was_recorded) {
  EXPECT_EQ(HistogramSnapshot().quantile(0.5), 0);
  EXPECT_EQ(HistogramSnapshot().count(), 0u);
}

TEST(Histogram, is_exact_for_small_values) {
  for (std::uint64_t value = 0; value < 16; ++value) {
    Histogram histogram;
    histogram.record(value);
    HistogramSnapshot snapshot;
    histogram.add_to(snapshot);
    EXPECT_EQ(snapshot.quantile(0), static_cast<double>(value));
    EXPECT_EQ(snapshot.quantile(1), static_cast<double>(value));
  }
}

TEST(Histogram, keeps_every_quantile_within_an_eighth) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> skewed(8, 3);
  std::uniform_int_distribution<std::uint64_t> flat(0, std::uint64_t{1} << 40);
  for (const bool is_skewed : {true, false}) {
    Histogram histogram;
    std::vector<std::uint64_t> values;
    for (int count = 0; count < 20'000; ++count) {
      const std::uint64_t value =
          is_skewed ? static_cast<std::uint64_t>(skewed(random)) : flat(random);
      values.push_back(value);
      histogram.record(value);
    }
    std::sort(values.begin(), values.end());
    HistogramSnapshot snapshot;
    histogram.add_to(snapshot);
    ASSERT_EQ(snapshot.count(), values.size());
    for (const double quantile : {0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0}) {
      const auto rank = static_cast<std::size_t>(quantile * static_cast<double>(values.size() - 1));
      const auto exact = static_cast<double>(values[rank]);
      EXPECT_LE(std::abs(snapshot.quantile(quantile) - exact), exact * 0.125) << quantile;
    }
  }
}

TEST(Histogram, merges_as_if_recorded_together) {
  Histogram first;
  Histogram second;
  Histogram both;
  for (std::uint64_t value = 1; value < 100'000; value = value * 3 / 2 + 1) {
    first.record(value);
    second.record(value * 7);
    both.record(value);
    both.record(value * 7);
  }
  HistogramSnapshot merged;
  HistogramSnapshot other;
  HistogramSnapshot expected;
  first.add_to(merged);
  second.add_to(other);
  merged.merge(other);
  both.add_to(expected);
  EXPECT_EQ(merged.count(), expected.count());
  for (double quantile = 0; quantile <= 1; quantile += 0.05) {
    EXPECT_EQ(merged.quantile(quantile), expected.quantile(quantile));
  }
}

}  // namespace
}  // namespace k2k::telemetry
