// Goal: reads run until they are stopped; a run that cannot start ends with an error that gives the
// reason.

#include "labs/interference/governor/random_reads.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "labs/interference/governor/running_load.hpp"

namespace k2k::labs::governor {
namespace {

using namespace std::chrono_literals;

TEST(RandomReads, run_until_they_are_stopped) {
  auto reads = RandomReads::create();
  ASSERT_TRUE(reads.ok()) << reads.error().message;
  RuntimeConfig config;
  config.device.compute_units = 1;
  auto runtime = Runtime::create(config);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  RunningLoad load;
  const auto work = [&](const std::atomic<bool>& stop) {
    return reads->run(runtime.value(), 1, stop);
  };
  ASSERT_TRUE(load.start(runtime.value(), work).ok());
  for (int wait = 0; wait < 10'000 && runtime->stats().requests < 1'000; ++wait) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GE(runtime->stats().requests, 1'000u);
  EXPECT_FALSE(load.ended());
  const Status status = load.stop();
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(load.ended());
  EXPECT_TRUE(runtime->drain().ok());
  EXPECT_EQ(runtime->stats().in_flight, 0u);
}

TEST(RandomReads, return_the_error_of_a_launch_that_cannot_begin) {
  auto reads = RandomReads::create();
  ASSERT_TRUE(reads.ok()) << reads.error().message;
  RuntimeConfig config;
  config.device.compute_units = 1;
  config.device.resident_waves = 1;  // 64 work-items are two waves.
  auto runtime = Runtime::create(config);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  RunningLoad load;
  const auto work = [&](const std::atomic<bool>& stop) {
    return reads->run(runtime.value(), 1, stop);
  };
  ASSERT_TRUE(load.start(runtime.value(), work).ok());
  EXPECT_FALSE(load.stop().ok());
  EXPECT_TRUE(load.ended());
}

TEST(RandomReads, of_a_bare_thread_keep_the_rhythm) {
  auto reads = RandomReads::create();
  ASSERT_TRUE(reads.ok()) << reads.error().message;
  const Instant begin = now();
  const auto done = reads->bare({.batch = 1ms, .period = 10ms}, 1, 100ms);
  const Nanoseconds elapsed = now() - begin;
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_GE(elapsed, 90ms);               // The tenth batch begins then.
  EXPECT_GE(done.value().requests, 10u);  // At least one a batch, even on a busy machine.
  EXPECT_GT(done.value().cpu, Nanoseconds(1'000));
  EXPECT_LT(done.value().cpu, elapsed / 2);  // The thread slept.
  const auto once = reads->bare({.batch = 1ns, .period = 1ns}, 1, 0ns);
  ASSERT_TRUE(once.ok()) << once.error().message;
  EXPECT_EQ(once.value().requests, 1u);
}

TEST(RandomReads, of_a_bare_thread_refuse_an_impossible_rhythm) {
  auto reads = RandomReads::create();
  ASSERT_TRUE(reads.ok()) << reads.error().message;
  for (const Rhythm rhythm : {Rhythm{0ms, 10ms}, Rhythm{-1ms, 10ms}, Rhythm{11ms, 10ms}}) {
    const auto refused = reads->bare(rhythm, 1, 1ms);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, EINVAL);
  }
}

}  // namespace
}  // namespace k2k::labs::governor
