// Goal: tokens are neither created nor lost except when every bucket is full, and the tokens of an
// idle tenant reach the tenants that want them.

#include "governor/buckets.hpp"

#include <gtest/gtest.h>

#include <random>

#include "governor/start_fixture.hpp"

namespace k2k::governor {
namespace {

double total(const Buckets& buckets, Tenant count) {
  double sum = 0;
  for (Tenant tenant = 0; tenant < count; ++tenant) sum += buckets.level(tenant);
  return sum;
}

TEST(Buckets, fill_at_their_rate_up_to_the_burst) {
  Buckets buckets(0.5, {{.weight = 1, .burst = 100}}, 0, start);
  buckets.refill(start + Nanoseconds(100));
  EXPECT_EQ(buckets.level(0), 50);
  buckets.refill(start + Nanoseconds(1000));
  EXPECT_EQ(buckets.level(0), 100);
  buckets.settle(0, 0, 300);
  EXPECT_EQ(buckets.level(0), -200);
  buckets.refill(start + Nanoseconds(1100));
  EXPECT_EQ(buckets.level(0), -150);
}

TEST(Buckets, reserved_tokens_count_as_present) {
  Buckets buckets(1, {{.weight = 1, .burst = 100}}, 80, start);
  buckets.reserve(0, 60);
  EXPECT_EQ(buckets.level(0), 20);
  buckets.refill(start + Nanoseconds(1000));
  EXPECT_EQ(buckets.level(0), 40);  // With the 60 reserved tokens, its burst.
  buckets.settle(0, 60, 10);
  EXPECT_EQ(buckets.level(0), 90);
}

TEST(Buckets, the_part_of_a_full_bucket_goes_to_the_others_by_weight) {
  Buckets buckets(
      1, {{.weight = 2, .burst = 1000}, {.weight = 1, .burst = 1000}, {.weight = 1, .burst = 1000}},
      1000, start);
  buckets.settle(0, 0, 1000);
  buckets.settle(1, 0, 1000);
  EXPECT_DOUBLE_EQ(buckets.part(0), 0.5);
  EXPECT_DOUBLE_EQ(buckets.flow(0), 0.5 + 0.25 * 2 / 3);
  EXPECT_DOUBLE_EQ(buckets.flow(2), 0.25);
  buckets.refill(start + Nanoseconds(120));
  EXPECT_DOUBLE_EQ(buckets.level(0), 80);
  EXPECT_DOUBLE_EQ(buckets.level(1), 40);
  EXPECT_DOUBLE_EQ(buckets.level(2), 1000);
}

TEST(Buckets, guarantees_beyond_the_rate_are_scaled_to_it) {
  Buckets buckets(
      1, {{.weight = 1, .guarantee = 3, .burst = 10}, {.weight = 1, .guarantee = 1, .burst = 10}},
      0, start);
  EXPECT_DOUBLE_EQ(buckets.part(0), 0.75);
  EXPECT_DOUBLE_EQ(buckets.part(1), 0.25);
}

// Scaling rounds: the rest for the others may come out slightly below zero.
TEST(Buckets, guarantees_beyond_the_rate_leave_the_others_nothing_and_no_debt) {
  for (int thousandths = 2; thousandths < 2000; ++thousandths) {
    const double guarantee = 1 + thousandths / 1000.0;
    const Buckets buckets(0.02,
                          {{.weight = 1, .burst = 10},
                           {.weight = 1, .guarantee = guarantee, .burst = 10},
                           {.weight = 1, .guarantee = guarantee / 3, .burst = 10}},
                          0, start);
    EXPECT_GE(buckets.part(0), 0) << guarantee;
    EXPECT_NEAR(buckets.part(0), 0, 1e-15) << guarantee;
  }
}

TEST(Buckets, together_gain_exactly_the_rate_until_all_are_full) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](int bound) {
      return static_cast<int>(random() % static_cast<unsigned>(bound));
    };
    const auto count = static_cast<Tenant>(1 + below(8));
    std::vector<Buckets::Account> accounts;
    double bursts = 0;
    for (Tenant tenant = 0; tenant < count; ++tenant) {
      accounts.push_back({1.0 + below(9), below(3) * 0.05, 100.0 + below(900)});
      bursts += accounts.back().burst;
    }
    Buckets buckets(2, accounts, 0, start);
    Instant now = start;
    for (int step = 0; step < 500; ++step) {
      const double before = total(buckets, count);
      const int elapsed = below(400);
      now += Nanoseconds(elapsed);
      buckets.refill(now);
      const double gained = total(buckets, count) - before;
      EXPECT_NEAR(gained, std::min(2.0 * elapsed, bursts - before), 1e-6) << "seed " << seed;
      for (Tenant tenant = 0; tenant < count; ++tenant) {
        EXPECT_LE(buckets.level(tenant), accounts[tenant].burst) << "seed " << seed;
      }
      buckets.settle(static_cast<Tenant>(below(static_cast<int>(count))), 0, below(1500));
    }
  }
}

}  // namespace
}  // namespace k2k::governor
