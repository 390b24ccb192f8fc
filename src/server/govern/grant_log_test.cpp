// Goal: time within grants is summed over threads between any two moments, as far back as the log
// reaches.

#include "server/govern/grant_log.hpp"

#include <gtest/gtest.h>

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

constexpr Instant first = Instant() + 1s;

TEST(GrantLog, knows_nothing_before_the_first_grant) {
  const GrantLog log;
  EXPECT_EQ(log.between(first, first + 1s), 0ns);
  EXPECT_EQ(log.open(), 0);
}

TEST(GrantLog, sums_over_threads_and_cuts_at_both_ends) {
  GrantLog log;
  log.opened(first);
  log.opened(first + 10us);
  log.closed(first + 30us);
  log.closed(first + 40us);
  log.opened(first + 100us);  // Still open.
  EXPECT_EQ(log.between(first, first + 40us), 60us);
  EXPECT_EQ(log.between(first + 20us, first + 35us), 25us);
  EXPECT_EQ(log.between(first + 40us, first + 100us), 0us);
  EXPECT_EQ(log.between(first + 35us, first + 150us), 55us);
  EXPECT_EQ(log.between(first - 1s, first + 10us), 10us);
  EXPECT_EQ(log.between(first + 30us, first + 20us), 0us) << "no time at all";
  EXPECT_EQ(log.open(), 1);
}

TEST(GrantLog, takes_a_clock_that_was_read_too_early_for_the_last_moment) {
  GrantLog log;
  log.opened(first);
  log.closed(first + 10us);
  log.opened(first + 5us);
  log.closed(first + 20us);
  EXPECT_EQ(log.between(first, first + 20us), 20us);
}

TEST(GrantLog, forgets_old_grants) {
  GrantLog log;
  Instant when = first;
  for (std::size_t grant = 0; grant < 10 * GrantLog::entries; ++grant) {
    log.opened(when);
    log.closed(when + 1us);
    when += 10us;
  }
  const auto kept = static_cast<std::int64_t>(GrantLog::entries / 2);
  EXPECT_EQ(log.between(when - 10us * (kept - 1), when), 1us * (kept - 1));
  EXPECT_LE(log.between(first, when), 1us * kept);
  EXPECT_GE(log.between(first, when), 1us * (kept - 1));
}

}  // namespace
}  // namespace k2k::server
