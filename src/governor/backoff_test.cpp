// Goal: the policy follows the rule of HISS, section VI and figure 11, step by step.

#include "governor/backoff.hpp"

#include <gtest/gtest.h>

#include <random>

#include "governor/start_fixture.hpp"

namespace k2k::governor {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Over the limit with more than 10 us in any millisecond.
GovernorConfig one_percent_of_a_core() {
  GovernorConfig config;
  config.policy = Policy::backoff;
  config.cap = 0.01;
  return config;
}

Instant at(int us) { return start + microseconds(us); }

TEST(Backoff, serves_at_once_below_the_limit) {
  Backoff backoff(one_percent_of_a_core(), start);
  backoff.charge(at(0), {.cpu = microseconds(10)});
  EXPECT_EQ(backoff.decide(at(500), {}).verdict, Verdict::serve);
}

TEST(Backoff, delays_by_ten_microseconds_and_doubles_until_the_share_is_below) {
  Backoff backoff(one_percent_of_a_core(), start);
  backoff.charge(at(5), {.cpu = microseconds(11)});
  Instant now = at(10);
  for (const int delay : {10, 20, 40, 80, 160, 320, 640}) {
    const Decision decision = backoff.decide(now, {});
    ASSERT_EQ(decision.verdict, Verdict::wait) << delay;
    EXPECT_FALSE(decision.mask);
    EXPECT_EQ(decision.until, now + microseconds(delay));
    now = decision.until;
  }
  EXPECT_EQ(now, at(1280));
  EXPECT_EQ(backoff.decide(now, {}).verdict, Verdict::serve);
  // The next time it begins with ten again.
  backoff.charge(now, {.cpu = microseconds(50)});
  now = at(1290);
  EXPECT_EQ(backoff.decide(now, {}).until, now + microseconds(10));
}

TEST(Backoff, sees_the_share_as_of_the_last_tick) {
  Backoff backoff(one_percent_of_a_core(), start);
  backoff.charge(at(1), {.cpu = microseconds(100)});
  EXPECT_EQ(backoff.decide(at(9), {}).verdict, Verdict::serve);
  EXPECT_EQ(backoff.decide(at(10), {}).verdict, Verdict::wait);
  EXPECT_EQ(backoff.decide(at(1009), {}).verdict, Verdict::wait);
  EXPECT_EQ(backoff.decide(at(1010), {}).verdict, Verdict::serve);
}

TEST(Backoff, grants_one_request_a_look) {
  Backoff backoff(one_percent_of_a_core(), start);
  EXPECT_EQ(backoff.decide(start, {}).grant, Nanoseconds::zero());
}

TEST(Backoff, its_window_equals_a_plain_sum) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](int bound) {
      return static_cast<int>(random() % static_cast<unsigned>(bound));
    };
    Backoff backoff(one_percent_of_a_core(), start);
    std::vector<std::pair<int, int>> charges;  // Time and amount, in microseconds.
    int now = 0;
    for (int step = 0; step < 500; ++step) {
      now += below(10) == 0 ? below(3000) : below(60);
      const int last_tick = now / 10 * 10;
      int in_window = 0;
      for (const auto& [when, cpu] : charges) {
        if (when < last_tick && when >= last_tick - 1000) in_window += cpu;
      }
      const bool over = in_window > 10;
      EXPECT_EQ(backoff.decide(at(now), {}).verdict, over ? Verdict::wait : Verdict::serve)
          << "seed " << seed << " step " << step;
      charges.emplace_back(now, below(8));
      backoff.charge(at(now), {.cpu = microseconds(charges.back().second)});
    }
  }
}

}  // namespace
}  // namespace k2k::governor
