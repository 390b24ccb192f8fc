// Goal: a top half's setting follows what its requests cost, and is left alone where nothing can be
// said. Method: books that the test fills; the policy itself is tested beside it.

#include "server/adaptive.hpp"

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
    adaptive.begin(*stats, moment);
  }
  // `requests` at `cost` each, after `waited` each.
  bool pass(Nanoseconds time, std::uint64_t requests, Nanoseconds cost, Nanoseconds waited) {
    moment += cycles_in(time);
    clock += cost * static_cast<std::int64_t>(requests);
    stats->answered.add(requests);
    stats->times.record(telemetry::RequestPart::scheduling, cycles_in(waited), requests);
    stats->ledger.settle(moment, clock, nanoseconds_per_cycle(), 0);
    return adaptive.look(*stats, moment);
  }
};

TEST_F(AdaptiveTest, is_off_unless_asked_for) {
  EXPECT_FALSE(adaptive.configure({}));
  EXPECT_FALSE(adaptive.on());
}

TEST_F(AdaptiveTest, begins_with_no_window_and_climbs_while_requests_get_cheaper) {
  begin();
  EXPECT_EQ(adaptive.setting().window_us, 0u);
  Nanoseconds cost = 10us;
  std::uint32_t longest = 0;
  for (int sample = 0; sample < 4; ++sample) {
    EXPECT_TRUE(pass(11ms, 100, cost, 1us));
    EXPECT_GT(adaptive.setting().window_us, longest);
    longest = adaptive.setting().window_us;
    cost = cost * 8 / 10;
  }
  EXPECT_EQ(adaptive.changes(), 4u);
}

TEST_F(AdaptiveTest, says_nothing_about_too_short_a_time_or_too_few_requests) {
  begin();
  EXPECT_FALSE(pass(5ms, 100, 10us, 1us));
  Adaptive other;
  ServerConfig config;
  config.coalescing = Coalescing::adaptive;
  other.configure(config);
  other.begin(*stats, moment);
  stats->answered.add(governor::Coalescer::requests_min - 1);
  EXPECT_FALSE(other.look(*stats, moment + cycles_in(20ms)));
}

TEST_F(AdaptiveTest, steps_back_from_what_delays_too_long) {
  begin(50);
  ASSERT_TRUE(pass(11ms, 100, 10us, 1us));
  const std::uint32_t first = adaptive.setting().window_us;
  ASSERT_TRUE(pass(11ms, 100, 5us, 80us));
  EXPECT_LT(adaptive.setting().window_us, first);
}

TEST_F(AdaptiveTest, forgets_what_another_thread_had_counted) {
  begin();
  ThreadStats& before = *stats;
  before.answered.add(1'000);
  auto fresh = std::make_unique<ThreadStats>();
  adaptive.begin(*fresh, moment);
  EXPECT_FALSE(adaptive.look(*fresh, moment + cycles_in(20ms))) << "nothing was answered here";
}

}  // namespace
}  // namespace k2k::server
