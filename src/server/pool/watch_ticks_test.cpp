#include "server/pool/watch_ticks.hpp"

#include <gtest/gtest.h>

namespace k2k::server {
namespace {

TEST(WatchTicks, end_after_a_silence_and_sooner_under_a_cap) {
  WatchTicks ticks;
  ticks.begin({.announced = 7, .made = 9});
  for (int look = 0; look < WatchTicks::idle_max; ++look) {
    EXPECT_TRUE(ticks.looks(false)) << look;
    EXPECT_EQ(ticks.looks(true), look < WatchTicks::idle_max_governed);
    ticks.looked({.announced = 7, .made = 9}, false);
  }
  EXPECT_FALSE(ticks.looks(false));
  EXPECT_TRUE(ticks.silent(7));
  EXPECT_FALSE(ticks.silent(8)) << "a call was announced in between";
  ticks.woken();
  EXPECT_TRUE(ticks.looks(false));
}

TEST(WatchTicks, become_rare_while_calls_are_short) {
  WatchTicks ticks;
  ticks.begin({});
  WatchTicks::Seen seen;
  for (const std::uint32_t stretch : {2u, 4u, 8u, 8u}) {
    seen.made += 2 * ticks.stretch();
    ++seen.announced;
    ticks.looked(seen, false);
    EXPECT_EQ(ticks.stretch(), stretch);
  }
  seen.made += 2 * ticks.stretch() - 1;
  ticks.looked(seen, false);
  EXPECT_EQ(ticks.stretch(), 1u) << "a call took longer";
}

TEST(WatchTicks, stay_frequent_in_split_mode) {
  WatchTicks ticks;
  ticks.begin({});
  ticks.looked({.announced = 1, .made = 1000}, true);
  EXPECT_EQ(ticks.stretch(), 1u);
}

TEST(WatchTicks, stay_frequent_after_a_take_over_for_the_next_watcher_too) {
  WatchTicks ticks;
  ticks.begin({});
  ticks.took_over();
  ticks.begin({});
  WatchTicks::Seen seen;
  for (int look = 0; look < WatchTicks::alert_ticks - 1; ++look) {
    seen.made += 1000;
    ticks.looked(seen, false);
    ASSERT_EQ(ticks.stretch(), 1u) << look;
  }
  seen.made += 1000;
  ticks.looked(seen, false);
  EXPECT_EQ(ticks.stretch(), 2u);
}

}  // namespace
}  // namespace k2k::server
