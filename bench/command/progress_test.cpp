// Goal: a benchmark tells what is done and how long the rest takes, and nothing in a short run.

#include "bench/command/progress.hpp"

#include <gtest/gtest.h>

namespace k2k::bench {
namespace {

TEST(Progress, tells_what_is_done_and_the_time_that_is_left) {
  EXPECT_EQ(progress_line("bench demand", 3, 20, "rounds", 71.4),
            "bench demand: 3 of 20 rounds, about 71 s left\n");
}

TEST(Progress, prints_nothing_in_a_short_run) {
  testing::internal::CaptureStderr();
  Progress progress("bench demand", "rounds");
  for (std::size_t done = 0; done <= 4; ++done) progress.tell(done, 4);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace k2k::bench
