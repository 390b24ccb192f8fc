// Goal: only time that other programs wanted is charged, the cap on it holds, and sleeping cores
// are woken no more often than their budget permits.

#include "governor/displaced.hpp"

#include <gtest/gtest.h>

#include "governor/backlog_fixture.hpp"
#include "governor/start_fixture.hpp"

namespace k2k::governor {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

GovernorConfig configuration(double cap) {
  GovernorConfig config;
  config.policy = Policy::displaced;
  config.cap = cap;
  config.cores = 4;
  config.threads = 2;
  config.wakes_per_second = 1000;
  config.wake_burst = 4;
  return config;
}

TEST(Displaced, charges_nothing_while_a_core_is_idle) {
  Displaced displaced(configuration(0.01), start);
  const double before = displaced.level(start, 0);
  const Decision decision = displaced.decide(start, {.contended = false});
  ASSERT_EQ(decision.verdict, Verdict::serve);
  EXPECT_EQ(decision.reserved, Nanoseconds::zero());
  displaced.settle(start, decision.reserved, {.cpu = milliseconds(1), .contended = false});
  EXPECT_EQ(displaced.level(start, 0), before);
  displaced.charge(start, {.cpu = microseconds(10), .contended = true});
  EXPECT_EQ(displaced.level(start, 0), before - 10'000);
}

TEST(Displaced, serves_a_tenant_in_debt_as_soon_as_a_core_is_idle) {
  Displaced displaced(configuration(0.01), start);
  displaced.charge(start, {.cpu = microseconds(400)});
  const Decision denied = displaced.decide(start, {.contended = true});
  ASSERT_EQ(denied.verdict, Verdict::wait);
  // At the next look, not after the 10 ms that would pay its debt off.
  EXPECT_EQ(denied.until, start + microseconds(3125));
  EXPECT_EQ(displaced.decide(start + microseconds(1), {.contended = false}).verdict,
            Verdict::serve);
}

TEST(Displaced, a_deep_debt_is_paid_off_before_anything_is_free) {
  Displaced displaced(configuration(0.01), start);
  displaced.charge(start, {.cpu = milliseconds(5)});
  EXPECT_EQ(displaced.decide(start, {.contended = false}).verdict, Verdict::wait);
}

TEST(Displaced, time_taken_from_others_stays_below_the_cap) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Displaced displaced(configuration(0.05), start);
    // All cores are busy 3 ms of every 4.
    const auto contended = [](Instant now) {
      return now.time_since_epoch() % milliseconds(4) < milliseconds(3);
    };
    Backlog backlog{.threads = 2};
    backlog.contended = contended;
    const Served run = BacklogRunner(displaced, backlog, seed).run(seconds(4));
    Nanoseconds taken{};
    Nanoseconds all{};
    for (const Service& one : run.services) {
      all += one.end - one.begin;
      if (contended(one.begin)) taken += one.end - one.begin;
    }
    const double bound = 0.05 * 4 * 4e9 + 3 * displaced.burst_total() + 2 * 50'000;
    EXPECT_LE(static_cast<double>(taken.count()), bound) << "seed " << seed;
    EXPECT_GE(all, 2 * taken) << "seed " << seed;
  }
}

TEST(Displaced, wakes_as_often_as_needed_if_no_core_sleeps) {
  Displaced displaced(configuration(0.05), start);
  displaced.charge(start, {.wakes = 1000, .contended = true});
  EXPECT_EQ(displaced.unmask_at(start), start);
  displaced.charge(start, {.wakes = 1000, .contended = false});
  EXPECT_GT(displaced.unmask_at(start), start);
}

TEST(Displaced, looks_for_idle_cores_within_two_percent_of_the_budget) {
  Displaced displaced(configuration(0.001), start);
  displaced.charge(start, {.cpu = milliseconds(1)});
  // 2.5 us of 2 % of 0.004 cores.
  EXPECT_EQ(displaced.decide(start, {}).until, start + microseconds(31'250));
}

TEST(Displaced, wakes_sleeping_cores_within_their_budget) {
  Displaced displaced(configuration(0.05), start);
  Instant now = start;
  int wakes = 0;
  while (now < start + seconds(1)) {
    const Instant unmasked = displaced.unmask_at(now);
    ASSERT_GE(unmasked, now);
    now = unmasked + microseconds(20);  // A request comes soon afterwards.
    displaced.charge(now, {.wakes = 1, .contended = false});
    ++wakes;
  }
  EXPECT_LE(wakes, 1000 + 4 + 1);
  EXPECT_GE(wakes, 950);
}

}  // namespace
}  // namespace k2k::governor
