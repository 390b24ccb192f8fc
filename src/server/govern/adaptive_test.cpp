// Goal: a top half's setting follows the cost of its requests, and stays where samples are
// insufficient. Method: statistics that the test fills; coalescer_test.cpp tests the policy itself.

#include "server/govern/adaptive.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

class AdaptiveTest : public testing::Test {
 protected:
  std::unique_ptr<ThreadStats> stats = std::make_unique<ThreadStats>();
  Adaptive adaptive;
  std::uint64_t moment = 1'000'000;
  Nanoseconds clock{};

  void begin(std::uint32_t delay_us = 200) {
    ServerConfig config;
    config.coalescing = Coalescing::adaptive;
    config.coalesce_delay_us = delay_us;
    EXPECT_TRUE(adaptive.configure(config));
    adaptive.begin(counted(*stats), moment);
  }
  static Adaptive::Counted counted(const ThreadStats& stats) {
    Adaptive::Counted counted;
    counted.add(stats);
    return counted;
  }
  // `requests` at `cost` each, after `waited` each.
  bool pass(Nanoseconds time, std::uint64_t requests, Nanoseconds cost, Nanoseconds waited) {
    moment += cycles_in(time);
    clock += cost * static_cast<std::int64_t>(requests);
    stats->answered.add(requests);
    stats->times.record(telemetry::RequestPart::scheduling, cycles_in(waited), requests);
    stats->ledger.settle(moment, clock, nanoseconds_per_cycle(), 0);
    return adaptive.due(moment) && adaptive.look(counted(*stats), moment);
  }
};

TEST_F(AdaptiveTest, is_off_unless_asked_for) {
  EXPECT_FALSE(adaptive.configure({}));
  EXPECT_FALSE(adaptive.on());
}

TEST_F(AdaptiveTest, begins_with_no_window_and_finds_the_cheaper_window) {
  begin();
  EXPECT_EQ(adaptive.setting().window_us, 0u);
  std::uint32_t at_long_windows = 0;
  for (int sample = 0; sample < 100; ++sample) {
    const bool holds = adaptive.setting().window_us >= 40;
    at_long_windows += holds ? 1 : 0;
    pass(11ms, 100, holds ? 5us : 10us, 1us);
  }
  EXPECT_GE(at_long_windows, 60u);
  EXPECT_GE(adaptive.changes(), 2u);
}

TEST_F(AdaptiveTest, says_nothing_about_too_short_a_time_or_too_few_requests) {
  begin();
  EXPECT_FALSE(pass(5ms, 100, 10us, 1us));
  Adaptive other;
  ServerConfig config;
  config.coalescing = Coalescing::adaptive;
  other.configure(config);
  other.begin(counted(*stats), moment);
  stats->answered.add(governor::Coalescer::requests_min - 1);
  EXPECT_FALSE(other.look(counted(*stats), moment + cycles_in(20ms)));
}

TEST_F(AdaptiveTest, waits_for_a_request_that_was_timed_where_some_are) {
  begin();
  EXPECT_TRUE(pass(11ms, 100, 10us, 1us));
  stats->answered.add(100);
  moment += cycles_in(11ms);
  EXPECT_FALSE(adaptive.look(counted(*stats), moment));
  EXPECT_TRUE(pass(1ms, 1, 10us, 1us)) << "one stands for them";
}

TEST_F(AdaptiveTest, keeps_nothing_that_delays_too_long) {
  begin(50);
  std::uint32_t late = 0;
  for (int sample = 0; sample < 100; ++sample) {
    const bool holds = adaptive.setting().window_us != 0;
    late += holds ? 1 : 0;
    pass(11ms, 100, holds ? 5us : 10us, holds ? 80us : 1us);
  }
  EXPECT_GE(late, 1u);
  EXPECT_LE(late, 5u);
}

TEST_F(AdaptiveTest, does_not_charge_a_silence_to_the_requests_behind_it) {
  begin();
  EXPECT_TRUE(pass(11ms, 100, 10us, 1us)) << "a trial";
  EXPECT_FALSE(pass(20ms, 0, 0us, 0us));
  clock += 5ms;  // Idle time.
  EXPECT_FALSE(pass(300ms, 50, 10us, 1us)) << "longer than a sample may be";
  EXPECT_TRUE(pass(11ms, 100, 10us, 1us)) << "the trial is over";
}

TEST_F(AdaptiveTest, adds_up_the_books_of_threads_that_serve_together) {
  auto other = std::make_unique<ThreadStats>();
  stats->answered.add(3);
  other->answered.add(4);
  other->ledger.settle(moment, 5us, nanoseconds_per_cycle(), 0);
  Adaptive::Counted sum = counted(*stats);
  sum.add(*other);
  EXPECT_EQ(sum.answered, 7u);
  EXPECT_EQ(sum.cpu_ns, 5'000u);
}

TEST_F(AdaptiveTest, forgets_the_counts_of_another_thread) {
  begin();
  ThreadStats& before = *stats;
  before.answered.add(1'000);
  auto fresh = std::make_unique<ThreadStats>();
  adaptive.begin(counted(*fresh), moment);
  EXPECT_FALSE(adaptive.look(counted(*fresh), moment + cycles_in(20ms)))
      << "nothing was answered here";
}

}  // namespace
}  // namespace k2k::server
