// Goal: samples come at 10 Hz while the program works, and their sums are what the process used.

#include "apps/common/rates.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/cores.hpp"

namespace k2k::apps {
namespace {

TEST(Rates, reads_the_number_of_bytes_from_storage) {
  const char text[] = "rchar: 10\nsyscr: 3\nread_bytes: 40960\nwrite_bytes: 7\n";
  EXPECT_EQ(read_bytes_in(text), 40960u);
  EXPECT_EQ(read_bytes_in("rchar: 10\nwrite_bytes: 1\n"), std::nullopt);
  EXPECT_EQ(read_bytes_in("rchar: 10\nread_bytes: \n"), std::nullopt);
  EXPECT_EQ(read_bytes_in(""), std::nullopt);
}

TEST(Rates, has_a_sample_a_period_and_one_for_the_rest) {
  Rates rates(true);
  const Instant begin = now();
  const Nanoseconds cpu_before = thread_time();
  while (now() - begin < 2 * Rates::period + Rates::period / 2) {  // Busy.
  }
  const double used = static_cast<double>((thread_time() - cpu_before).count()) / 1e9;
  const std::vector<RateSample> samples = rates.end();
  ASSERT_GE(samples.size(), 2u);
  double last = 0;
  double cpu = 0;
  for (const RateSample& sample : samples) {
    EXPECT_GT(sample.seconds, last);
    EXPECT_GE(sample.cpu_share, 0);
    cpu += sample.cpu_share * (sample.seconds - last);
    last = sample.seconds;
  }
  EXPECT_GE(last, 0.25);
  // Shares of all usable cores: the busy thread's time is in them, up to Linux' ticks.
  EXPECT_GE(cpu * usable_cores(), used * 0.5);
  EXPECT_EQ(rates.end().size(), samples.size());
}

TEST(Rates, are_empty_if_not_wanted) {
  Rates rates(false);
  EXPECT_TRUE(rates.end().empty());
}

}  // namespace
}  // namespace k2k::apps
