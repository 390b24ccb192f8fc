// Goal: CPU programs do work and count the time in which they wanted a core.

#include "labs/interference/governor/busy.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace k2k::labs::governor {
namespace {

using namespace std::chrono_literals;

TEST(BusyPrograms, rate_is_work_in_the_time_that_was_wanted) {
  EXPECT_DOUBLE_EQ(rate_between({10, 100ns}, {40, 200ns}), 0.3);
  EXPECT_EQ(rate_between({10, 100ns}, {10, 100ns}), 0);
}

TEST(BusyPrograms, rate_leaves_out_disturbed_moments) {
  EXPECT_DOUBLE_EQ(median_rate({{0, 0ns}, {10, 10ns}, {11, 20ns}, {21, 30ns}}), 1);
  EXPECT_DOUBLE_EQ(median_rate({{0, 0ns}, {5, 10ns}}), 0.5);
}

TEST(BusyPrograms, want_a_core_for_their_part_of_the_time) {
  for (const double fraction : {1.0, 0.2}) {
    BusyPrograms programs;
    const Instant begin = now();
    ASSERT_TRUE(programs.start(2, fraction).ok());
    while (programs.done().work < 200 || now() - begin < 60ms) std::this_thread::sleep_for(1ms);
    const Progress done = programs.done();
    const auto elapsed = static_cast<double>((now() - begin).count());
    programs.stop();
    EXPECT_GT(done.wanted, 0ns);
    // A program that waits for a core wants it for longer, but never for more than the whole time.
    EXPECT_LE(static_cast<double>(done.wanted.count()), 2 * elapsed);
    EXPECT_EQ(programs.done().work, 0u) << "the programs ended";
  }
}

}  // namespace
}  // namespace k2k::labs::governor
