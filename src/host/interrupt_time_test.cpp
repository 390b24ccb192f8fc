// Goal: the times and counts of interrupts are found in /proc/stat whatever else it has; a file
// without them is an error at first and no reading later.

#include "host/interrupt_time.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "host/proc_fixture.hpp"

namespace k2k::host {
namespace {

using namespace std::chrono_literals;

constexpr const char* sampled =
    "cpu  53142 0 5245 23361 498 0 54 92 0 0\n"
    "cpu0 26060 0 2355 12721 38 0 9 41 0 0\n"
    "intr 302010 0 9 0 0 30\n"
    "ctxt 700000\n"
    "btime 1796126000\n"
    "softirq 146000 1 18000 4 2100 59716 7 3 26000 0 40000\n";

TEST(InterruptCounts, are_times_of_all_cores_and_interrupts_of_devices) {
  const auto counts = interrupt_counts_of(sampled, 10ms);
  ASSERT_TRUE(counts.has_value());
  EXPECT_EQ(counts->hard, 0ms);
  EXPECT_EQ(counts->soft, 540ms);
  EXPECT_EQ(counts->stolen, 920ms);
  EXPECT_EQ(counts->of_devices, 39u) << "without the sum, which has timers and calls";
  EXPECT_EQ(counts->of_io, 4u + 2100 + 59716 + 7);
  EXPECT_FALSE(counts->measured());
}

TEST(InterruptCounts, are_measured_where_hard_interrupts_have_a_time) {
  const auto counts =
      interrupt_counts_of("cpu  1 2 3 4 5 6 7 8\nintr 5\nsoftirq 1 2 3 4 5 6 7\n", 1ms);
  ASSERT_TRUE(counts.has_value());
  EXPECT_TRUE(counts->measured());
  EXPECT_EQ(counts->hard + counts->soft, 13ms);
  EXPECT_EQ(counts->of_devices, 0u);
}

TEST(InterruptCounts, are_nothing_where_a_line_is_missing_or_short) {
  for (const char* text :
       {"", "cpu  1 2 3 4 5 6 7 8\n", "cpu  1 2 3 4 5 6 7\nintr 5\nsoftirq 1 2 3 4 5 6 7\n",
        "cpu  1 2 3 4 5 6 7 8\nintr 5\nsoftirq 1 2 3 4 5 6\n",
        "cpu  1 2 3 4 5 6 7 8\nintr\nsoftirq 1 2 3 4 5 6 7\n",
        "cpu0 1 2 3 4 5 6 7 8\nintr 5\nsoftirq 1 2 3 4 5 6 7\n",
        "cpu  1 2 3 4 5 x 7 8\nintr 5\nsoftirq 1 2 3 4 5 6 7\n"}) {
    EXPECT_FALSE(interrupt_counts_of(text, 10ms).has_value()) << text;
  }
}

TEST(CoreTicks, are_the_columns_of_all_cores) {
  const auto ticks = core_ticks_of("cpu  1 2 3 4 5 60 7 8 9 10");
  ASSERT_TRUE(ticks.has_value());
  EXPECT_EQ(ticks->user + ticks->nice + ticks->system, 6u);
  EXPECT_EQ(ticks->idle, 4u);
  EXPECT_EQ(ticks->disk, 5u);
  EXPECT_EQ(ticks->hard, 60u);
  EXPECT_EQ(ticks->soft, 7u);
  EXPECT_EQ(ticks->stolen, 8u);
  for (const char* const line :
       {"", "cpu", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6", "cpu  1 2 3 4 5 x 7 8",
        "cpu  1 2 3 4 5 6 7", "cpu  1 2 3 4 5 -6 7 8", "cpu  1 2 3 4 99999999999999999999 6 7 8"}) {
    EXPECT_FALSE(core_ticks_of(line).has_value()) << line;
  }
}

TEST(InterruptTime, is_read_again_from_the_same_file) {
  const PlantedProc proc;
  proc.plant("stat", sampled);
  auto time = InterruptTime::open(proc.path());
  ASSERT_TRUE(time.ok()) << time.error().message;
  EXPECT_EQ(time->read()->of_devices, 39u);
  proc.plant("stat", "cpu  0 0 0 0 0 0 0 0\nintr 1 2\nsoftirq 0 0 0 0 0 0 0\n");
  EXPECT_EQ(time->read()->of_devices, 2u);
  proc.plant("stat", "what?");
  EXPECT_FALSE(time->read().has_value());
  proc.plant("stat", "");
  EXPECT_FALSE(time->read().has_value());
}

TEST(InterruptTime, is_an_error_where_the_file_is_missing_or_another_one) {
  const PlantedProc proc;
  EXPECT_EQ(InterruptTime::open(proc.path()).error().code, ENOENT);
  proc.plant("stat", "cpu  1 2 3\n");
  const auto wrong = InterruptTime::open(proc.path());
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, EBADMSG);
  EXPECT_EQ(wrong.error().message,
            proc.path() + "/stat has no lines cpu, intr and softirq with numbers");
}

TEST(InterruptTime, is_read_on_this_machine) {
  auto time = InterruptTime::open();
  ASSERT_TRUE(time.ok()) << time.error().message;
  const auto counts = time->read();
  ASSERT_TRUE(counts.has_value());
  EXPECT_GT(counts->of_devices + counts->of_io, 0u);
}

}  // namespace
}  // namespace k2k::host
