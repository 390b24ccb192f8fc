// Goal: a piece takes its calibrated time or longer, and its wait is Linux' account since the last
// piece.

#include "host/canary.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "host/proc_fixture.hpp"

namespace k2k::host {
namespace {

constexpr const char* account = "thread-self/schedstat";

TEST(RunDelayOf, is_the_second_of_three_counts) {
  EXPECT_EQ(run_delay_of("746649 49378 1\n"), Nanoseconds(49378));
  EXPECT_EQ(run_delay_of("0 0 0\n"), Nanoseconds(0));
}

TEST(RunDelayOf, is_nothing_in_other_lines) {
  for (const char* text : {"", "\n", "5", "5 ", "5 6", "5 6\n", "x 6 1", "5 x 1", "-5 6 1",
                           "5 -6 1", "5  6 1", "99999999999999999999 6 1", "5\t6 1"}) {
    EXPECT_FALSE(run_delay_of(text).has_value()) << text;
  }
}

TEST(Canary, tells_its_wait_since_the_last_piece) {
  const PlantedProc proc;
  proc.plant(account, "1000 5000 1\n");
  auto canary = Canary::open(proc.path());
  ASSERT_TRUE(canary.ok()) << canary.error().message;
  proc.plant(account, "2000 12000 2\n");
  auto piece = canary->work();
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ(piece->waited, Nanoseconds(7000));
  piece = canary->work();
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ(piece->waited, Nanoseconds(0));
  proc.plant(account, "nonsense");
  EXPECT_FALSE(canary->work().has_value());
  proc.plant(account, "3000 12500 3\n");
  piece = canary->work();
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ(piece->waited, Nanoseconds(500));
}

TEST(Canary, works_for_its_calibrated_time_or_longer) {
  auto canary = Canary::open();  // The real account.
  ASSERT_TRUE(canary.ok()) << canary.error().message;
  for (int one = 0; one < 50; ++one) {
    const auto piece = canary->work();
    ASSERT_TRUE(piece.has_value());
    EXPECT_GT(piece->undisturbed, Nanoseconds(0));
    EXPECT_GE(piece->took, piece->undisturbed);
    EXPECT_GE(piece->waited, Nanoseconds(0));
  }
}

TEST(Canary, without_its_file_is_an_error_with_the_reason) {
  const PlantedProc proc;
  const auto missing = Canary::open(proc.path());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_EQ(missing.error().message,
            "cannot open " + proc.path() + "/thread-self/schedstat: No such file or directory");
  proc.plant(account, "1 2\n");
  const auto spoilt = Canary::open(proc.path());
  ASSERT_FALSE(spoilt.ok());
  EXPECT_EQ(spoilt.error().code, EBADMSG);
  EXPECT_EQ(spoilt.error().message,
            proc.path() +
                "/thread-self/schedstat is '1 2', which is not a thread's three counts, such as "
                "'746649 49378 1'");
}

}  // namespace
}  // namespace k2k::host
