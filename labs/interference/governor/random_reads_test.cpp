// Goal: reads run until they are stopped, and end with an error that says why where they cannot.

#include "labs/interference/governor/random_reads.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

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

TEST(RandomReads, say_so_if_the_launch_cannot_begin) {
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

}  // namespace
}  // namespace k2k::labs::governor
