#include "base/clock.hpp"

#include <gtest/gtest.h>

namespace k2k {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t wrap = std::uint64_t{1} << 36;  // Cycles until a stamp repeats.

TEST(Clock, never_goes_backwards) {
  Instant instant = now();
  std::uint64_t count = cycles();
  for (int look = 0; look < 10'000; ++look) {
    const Instant next = now();
    const std::uint64_t next_count = cycles();
    ASSERT_GE(next, instant);
    ASSERT_GE(next_count, count);
    instant = next;
    count = next_count;
  }
}

TEST(Clock, converts_cycles_into_the_time_that_passed) {
  const double ratio = nanoseconds_per_cycle();
  EXPECT_EQ(ratio, nanoseconds_per_cycle());  // Calibrated once.
  const std::uint64_t begin = cycles();
  const Instant start = now();
  while (now() - start < 5ms) {
  }
  const auto elapsed = static_cast<double>((now() - start).count());
  const double measured = static_cast<double>(cycles() - begin) * ratio;
  // A factor of two is imprecise, but detects a wrong unit; a preemption may fall between any two
  // readings.
  EXPECT_GT(measured, elapsed / 2);
  EXPECT_LT(measured, elapsed * 2 + 1e7);
}

TEST(Clock, counts_the_time_only_this_thread_used) {
  const Nanoseconds before = thread_time();
  while (thread_time() - before < 1ms) {
  }
  EXPECT_GE(thread_time() - before, 1ms);
}

TEST(Stamp, is_never_zero) {
  EXPECT_EQ(stamp_at(0), 1u);
  EXPECT_EQ(stamp_at(15), 1u);
  EXPECT_EQ(stamp_at(16), 1u);
  EXPECT_EQ(stamp_at(32), 2u);
  EXPECT_EQ(stamp_at(wrap), 1u);
}

TEST(Stamp, measures_a_gap_to_sixteen_cycles) {
  for (const std::uint64_t begin : {std::uint64_t{16}, std::uint64_t{12345678}, wrap - 4096}) {
    for (const std::uint64_t gap : {0ull, 16ull, 1000ull, 123456789ull}) {
      const std::uint64_t measured = cycles_since(stamp_at(begin), begin + gap);
      EXPECT_LE(measured, gap + 32);
      EXPECT_GE(measured + 32, gap);
    }
  }
}

TEST(Stamp, measures_across_its_wrap) {
  EXPECT_EQ(cycles_since(stamp_at(wrap - 160), wrap + 160), 320u);
  EXPECT_EQ(cycles_since(stamp_at(7 * wrap - 1600), 7 * wrap + 1600), 3200u);
}

TEST(Stamp, counts_clocks_that_disagree_as_no_time) {
  EXPECT_EQ(cycles_since(stamp_at(1'000'000), 999'000), 0u);
}

}  // namespace
}  // namespace k2k
