// Goal: shares computed from readings are right, and the worst window is found at any position.

#include "labs/interference/governor/observer.hpp"

#include <gtest/gtest.h>

namespace k2k::labs::governor {
namespace {

using namespace std::chrono_literals;

std::vector<Reading> every(Nanoseconds step, const std::vector<Nanoseconds>& cpu) {
  std::vector<Reading> readings;
  Instant when{};
  for (const Nanoseconds one : cpu) {
    readings.push_back({when, one});
    when += step;
  }
  return readings;
}

TEST(Shares, are_of_all_cores) {
  const auto readings = every(10ms, {3ms, 5ms, 13ms});
  EXPECT_DOUBLE_EQ(share_of(readings, 1), 0.5);
  EXPECT_DOUBLE_EQ(share_of(readings, 2), 0.25);
  EXPECT_EQ(share_of({}, 2), 0);
  EXPECT_EQ(share_of(every(10ms, {3ms}), 2), 0);
}

TEST(Shares, find_the_worst_window_wherever_it_lies) {
  // 20 ms of work in the middle of a second, read every 20 ms.
  std::vector<Nanoseconds> cpu(51, 0ns);
  for (std::size_t index = 26; index < cpu.size(); ++index) cpu[index] = 20ms;
  EXPECT_NEAR(share_of(every(20ms, cpu), 1), 0.02, 1e-9);
  EXPECT_NEAR(worst_share_of(every(20ms, cpu), 100ms, 1), 0.2, 1e-9);
  EXPECT_NEAR(worst_share_of(every(20ms, cpu), 10ms, 1), 1, 1e-9);
  EXPECT_NEAR(worst_share_of(every(20ms, cpu), 100ms, 2), 0.1, 1e-9);
}

TEST(Shares, of_a_late_reading_are_not_taken_for_a_burst) {
  // Steady 10 %; the third reading came 50 ms late.
  const Instant start{};
  const std::vector<Reading> readings = {{start, 0ms},
                                         {start + 20ms, 2ms},
                                         {start + 90ms, 9ms},
                                         {start + 110ms, 11ms},
                                         {start + 190ms, 19ms}};
  EXPECT_NEAR(worst_share_of(readings, 100ms, 1), 0.1, 1e-9);
}

TEST(Shares, of_less_than_a_window_equal_the_shares_of_all) {
  EXPECT_DOUBLE_EQ(worst_share_of(every(10ms, {0ms, 5ms}), 100ms, 1), 0.5);
  EXPECT_EQ(worst_share_of({}, 100ms, 1), 0);
}

}  // namespace
}  // namespace k2k::labs::governor
