#include "server/poll/poll_ladder.hpp"

#include <gtest/gtest.h>

namespace k2k::server {
namespace {

using Step = PollLadder::Step;

constexpr std::uint64_t first_look = 1'000'000'000;
std::uint64_t at(std::uint32_t us) { return first_look + cycles_of(us); }

TEST(PollLadder, spins_offers_the_core_and_sleeps) {
  ServerConfig config;
  config.spin_us = 100;
  config.yield_us = 50;
  PollLadder ladder(config, first_look);
  EXPECT_EQ(ladder.next(at(0)), Step::spin);
  EXPECT_EQ(ladder.next(at(20)), Step::spin);
  EXPECT_EQ(ladder.next(at(30)), Step::offer);
  EXPECT_EQ(ladder.next(at(140)), Step::offer);
  EXPECT_EQ(ladder.next(at(151)), Step::sleep);
  EXPECT_EQ(ladder.sleep_us(at(151)), config.sleep_us);
  EXPECT_EQ(ladder.sleep_us(at(900'000)), config.sleep_us);
}

TEST(PollLadder, begins_anew_when_a_request_was_served) {
  ServerConfig config;
  config.spin_us = 100;
  PollLadder ladder(config, first_look);
  EXPECT_EQ(ladder.next(at(500)), Step::sleep);
  ladder.found(at(500));
  ladder.served(at(510));
  EXPECT_EQ(ladder.next(at(515)), Step::spin) << "a device that rings finds it awake again";
  EXPECT_EQ(ladder.next(at(611)), Step::sleep);
}

TEST(PollLadder, sleeps_longer_the_longer_nothing_came_if_nothing_can_wake_it) {
  ServerConfig config;
  config.notify = Notify::polling;
  PollLadder ladder(config, first_look);
  EXPECT_EQ(ladder.next(at(60)), Step::sleep);
  EXPECT_EQ(ladder.sleep_us(at(60)), PollLadder::nap_min_us);
  EXPECT_EQ(ladder.sleep_us(at(1'000)), PollLadder::nap_min_us);
  const std::uint32_t later = ladder.sleep_us(at(8'000));
  EXPECT_GE(later, 400u);
  EXPECT_LE(later, 500u);
  EXPECT_EQ(ladder.sleep_us(at(1'000'000)), PollLadder::nap_max_us);
}

TEST(PollLadder, does_not_spin_for_requests_that_come_too_rarely_to_be_met_by_it) {
  ServerConfig config;
  config.notify = Notify::polling;
  config.spin_us = 50;
  PollLadder ladder(config, first_look);
  ladder.found(at(700));
  ladder.served(at(701));
  EXPECT_EQ(ladder.next(at(702)), Step::sleep);
  ladder.found(at(710));  // A request that came at once: spinning pays again.
  ladder.served(at(711));
  EXPECT_EQ(ladder.next(at(712)), Step::spin);
}

TEST(PollLadder, begins_anew_when_a_kernel_is_launched) {
  ServerConfig config;
  config.notify = Notify::polling;
  config.spin_us = 50;
  PollLadder ladder(config, first_look);
  ladder.found(at(700));
  ladder.served(at(701));
  ladder.restart(at(900'000));
  EXPECT_EQ(ladder.next(at(900'010)), Step::spin);
  EXPECT_EQ(ladder.next(at(900'060)), Step::sleep);
  EXPECT_EQ(ladder.sleep_us(at(900'060)), PollLadder::nap_min_us);
}

}  // namespace
}  // namespace k2k::server
