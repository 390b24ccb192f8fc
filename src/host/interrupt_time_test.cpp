// Goal: the times and counts of interrupts are found in /proc/stat whatever else it has; a file
// without them is an error at first and no reading later.

#include "host/interrupt_time.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string>

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

std::string stat_of(int cores, int interrupts) {
  std::string text = "cpu  1 2 3 4 5 6 7 8 0 0\n";
  for (int core = 0; core < cores; ++core) text += fmt::format("cpu{} 1 2 3 4 5 6 7 8\n", core);
  text += "intr 1000";
  for (int number = 0; number < interrupts; ++number) text += " 1";
  return text + "\nsoftirq 1 2 3 4 5 6 7\n";
}

// Thousands of cores: the line of soft interrupts is the last.
TEST(InterruptTime, is_read_from_a_file_of_any_size) {
  const PlantedProc proc;
  for (const int interrupts : {100, 60'000, 65'536 - 30, 700'000}) {
    const std::string text = stat_of(4096, interrupts);
    proc.plant("stat", text);
    auto time = InterruptTime::open(proc.path());
    ASSERT_TRUE(time.ok()) << time.error().message;
    const auto counts = time->read();
    ASSERT_TRUE(counts.has_value()) << text.size();
    EXPECT_EQ(counts->of_devices, static_cast<std::uint64_t>(interrupts));
    EXPECT_EQ(counts->of_io, 4u + 5 + 6 + 7);
  }
  // Sizes around that of the buffer: no number is cut.
  for (std::size_t bytes = (128 << 10) - 4; bytes <= (128 << 10) + 4; ++bytes) {
    std::string text = stat_of(0, 0);
    text.insert(text.find("softirq"), std::string(bytes - text.size() - 1, 'x') + "\n");
    ASSERT_EQ(text.size(), bytes);
    proc.plant("stat", text);
    auto time = InterruptTime::open(proc.path());
    ASSERT_TRUE(time.ok()) << time.error().message;
    EXPECT_EQ(time->read()->of_io, 4u + 5 + 6 + 7) << bytes;
  }
}

TEST(InterruptTime, is_an_error_where_the_file_has_no_end) {
  const PlantedProc proc;
  proc.plant("stat", stat_of(0, 5'000'000));
  const auto endless = InterruptTime::open(proc.path());
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().code, EFBIG);
  EXPECT_EQ(endless.error().message, proc.path() +
                                         "/stat has more than 8388608 bytes, which is no account "
                                         "of cores and interrupts");
}

// Linux adds the lines of all cores that can be there, so the sums do not fall.
TEST(InterruptTime, goes_on_while_cores_come_and_go) {
  const PlantedProc proc;
  proc.plant("stat", stat_of(4, 10));
  auto time = InterruptTime::open(proc.path());
  ASSERT_TRUE(time.ok()) << time.error().message;
  for (const int cores : {4, 1, 0, 3, 6000, 2}) {
    proc.plant("stat", stat_of(cores, 10));
    const auto counts = time->read();
    ASSERT_TRUE(counts.has_value()) << cores;
    EXPECT_EQ(counts->of_devices, 10u);
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
