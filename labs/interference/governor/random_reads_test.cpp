// Goal: reads are as long as the calibration says, run until they are stopped, and end with an
// error that says why where they cannot.

#include "labs/interference/governor/random_reads.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace k2k::labs::governor {
namespace {

using namespace std::chrono_literals;

TEST(RandomReads, take_as_long_as_was_asked_for) {
  const std::vector<ReadCost> costs = {{64, 1}, {1024, 3}, {4096, 3}, {8192, 11}};
  EXPECT_EQ(size_taking(0.5, costs), 64u);
  EXPECT_EQ(size_taking(1, costs), 64u);
  EXPECT_EQ(size_taking(2, costs), 544u);
  EXPECT_EQ(size_taking(3, costs), 1024u) << "the smallest where more costs no more";
  EXPECT_EQ(size_taking(7, costs), 6144u);
  EXPECT_EQ(size_taking(50, costs), 8192u);
  EXPECT_EQ(size_taking(50, {{64, 1}}), 64u);
}

TEST(RandomReads, run_until_they_are_stopped) {
  auto reads = RandomReads::create();
  ASSERT_TRUE(reads.ok()) << reads.error().message;
  RuntimeConfig config;
  config.device.compute_units = 1;
  auto runtime = Runtime::create(config);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  RunningLoad load;
  ASSERT_TRUE(load.start(runtime.value(), reads.value(), 1).ok());
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
  ASSERT_TRUE(load.start(runtime.value(), reads.value(), 1).ok());
  EXPECT_FALSE(load.stop().ok());
  EXPECT_TRUE(load.ended());
}

}  // namespace
}  // namespace k2k::labs::governor
