// Goal: each interrupt that ends a sleep of a serving thread is charged once, sleeps for other
// reasons are not; where clocks leave interrupts out, a thread that kept its core pays for them.

#include <gtest/gtest.h>

#include "server/govern/grants.hpp"
#include "server/govern/grants_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

class GrantsOfInterrupts : public testing::Test {
 protected:
  static ServerConfig capped(const char* tenants = "") {
    ServerConfig config;
    config.cap_permille = 500;
    config.tenants = tenants;
    return config;
  }
  void SetUp() override {
    thread_.grants.set_interrupts({.each = 20us, .part_of_gap = 0, .account = "sampled"});
    thread_.pass();
  }
  void sleep_in_a_call(Nanoseconds time) {
    thread_.clocks.sleep_until(thread_.clocks.now() + time);
    ++thread_.clocks.switched.voluntary;
  }
  void leave() { thread_.grants.settle(thread_.account, false); }
  [[nodiscard]] Nanoseconds charged() const { return thread_.grants.usage().charged; }

  ReplayedThread thread_{capped()};
};

TEST_F(GrantsOfInterrupts, are_for_each_sleep_of_a_serving_thread) {
  thread_.work(0, 50us);
  sleep_in_a_call(1ms);
  thread_.work(0, 50us);
  sleep_in_a_call(1ms);
  leave();
  EXPECT_EQ(charged(), 140us);
  EXPECT_EQ(thread_.grants.usage().interrupts, 2u);
  EXPECT_DOUBLE_EQ(thread_.grants.stats().charged_seconds, 140e-6);
  EXPECT_DOUBLE_EQ(thread_.grants.stats().request_interrupt_seconds, 40e-6);
  EXPECT_DOUBLE_EQ(thread_.grants.stats().interrupt_us, 20);
  EXPECT_EQ(thread_.grants.stats().interrupts, "sampled");
  leave();
  EXPECT_EQ(charged(), 140us) << "charged once";
}

TEST_F(GrantsOfInterrupts, are_not_for_sleeps_until_a_thread_is_wanted) {
  thread_.work(0, 50us);
  leave();
  sleep_in_a_call(1ms);
  thread_.pass();
  leave();
  sleep_in_a_call(1ms);
  thread_.grants.settle(thread_.account, true);
  sleep_in_a_call(1ms);
  thread_.pass();
  static_cast<void>(thread_.grants.rest_masked(thread_.account));
  sleep_in_a_call(1ms);
  thread_.pass();
  EXPECT_EQ(thread_.grants.usage().interrupts, 0u);
  EXPECT_EQ(charged(), 50us + governor::Costs().interrupt) << "the doorbell that woke it";
}

TEST_F(GrantsOfInterrupts, are_not_for_waits_for_budget) {
  thread_.work(0, 200ms);
  ++thread_.clocks.switched.voluntary;
  EXPECT_TRUE(thread_.pass());
  EXPECT_EQ(thread_.grants.usage().interrupts, 1u) << "the one before the wait";
  thread_.clocks.switched.voluntary += 5;
  thread_.grants.settle(thread_.account, true);
  EXPECT_EQ(thread_.grants.usage().interrupts, 1u);
}

TEST_F(GrantsOfInterrupts, are_for_a_call_that_begins_after_a_thread_left) {
  leave();
  ++thread_.clocks.switched.voluntary;  // It waited for the call.
  thread_.grants.begin_sleeping_call(thread_.account);
  sleep_in_a_call(1ms);
  leave();
  EXPECT_EQ(thread_.grants.usage().interrupts, 1u);
}

TEST_F(GrantsOfInterrupts, are_at_least_one_for_128_kib_of_a_disk) {
  thread_.clocks.switched.blocks += 255;
  sleep_in_a_call(1ms);
  leave();
  EXPECT_EQ(thread_.grants.usage().interrupts, 1u);
  thread_.pass();
  thread_.clocks.switched.blocks += 1 + 2 * 256;
  sleep_in_a_call(1ms);
  leave();
  EXPECT_EQ(thread_.grants.usage().interrupts, 4u) << "with the 255 blocks before";
}

TEST_F(GrantsOfInterrupts, are_those_of_completions_that_a_thread_counted) {
  thread_.account.interrupts = 7;
  leave();
  EXPECT_EQ(charged(), 140us);
}

TEST_F(GrantsOfInterrupts, take_the_gap_in_the_clock_of_a_thread_that_kept_its_core) {
  thread_.grants.set_interrupts({.each = 20us, .part_of_gap = 0.5, .account = "measured"});
  const auto interrupted = [&] {
    thread_.work(0, 50us);
    thread_.clocks.sleep_until(thread_.clocks.now() + 10us);
  };
  interrupted();
  leave();
  EXPECT_EQ(charged(), 55us);
  thread_.clocks.sleep_until(thread_.clocks.now() + 1s);
  thread_.pass();
  EXPECT_EQ(charged(), 55us) << "it was at rest";
  interrupted();
  ++thread_.clocks.switched.involuntary;
  leave();
  EXPECT_EQ(charged(), 105us) << "another thread had the core";
}

TEST_F(GrantsOfInterrupts, begin_again_with_another_rule) {
  thread_.account.interrupts = 7;
  thread_.clocks.switched = {.voluntary = 900, .involuntary = 0, .blocks = 100'000};
  thread_.configure(capped());
  thread_.pass();
  leave();
  EXPECT_EQ(thread_.grants.usage().interrupts, 0u);
}

TEST_F(GrantsOfInterrupts, are_paid_by_the_tenants_that_were_served) {
  thread_.configure(capped("1:weight=1 2:weight=1"));
  thread_.pass();
  ASSERT_TRUE(thread_.admits(1));
  const Nanoseconds before = charged();
  thread_.work(1, 50us);
  sleep_in_a_call(1ms);
  leave();
  EXPECT_NEAR(static_cast<double>((charged() - before).count()), 70e3, 10);
}

}  // namespace
}  // namespace k2k::server
