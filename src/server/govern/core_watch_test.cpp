// Goal: requests read a word that expires; the thread looks while requests ask, sleeps without a
// timer otherwise, and is woken by the next request. Method: the test passes the clock and writes
// the files; the last tests run the thread.

#include "server/govern/core_watch.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/clock.hpp"
#include "host/proc_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

constexpr Instant beginning = Instant() + 1h;
constexpr Nanoseconds busy_period = 50ms;
constexpr std::uint32_t machine = 4;

class CoreWatchTest : public testing::Test {
 protected:
  // Threads that run or wait for a core; the first is the thread that looks.
  void runnable(int threads) const {
    proc_.plant("loadavg", "0.0 0.0 0.0 " + std::to_string(threads) + "/9 1\n");
  }
  [[nodiscard]] host::IdleCores cores() const {
    runnable(1);
    auto opened = host::IdleCores::open(machine, machine, proc_.path());
    EXPECT_TRUE(opened.ok());
    return std::move(opened).value();
  }

  const host::PlantedProc proc_;
  CoreWatch watch_{cores(), busy_period};
};

TEST_F(CoreWatchTest, cores_count_as_busy_before_the_first_look_and_when_looks_are_late) {
  EXPECT_TRUE(watch_.all_busy(beginning));
  EXPECT_FALSE(watch_.check(beginning, 1, false).all_busy);
  EXPECT_FALSE(watch_.all_busy(beginning));
  EXPECT_FALSE(watch_.all_busy(beginning + CoreWatch::valid - 1us));
  EXPECT_TRUE(watch_.all_busy(beginning + CoreWatch::valid));
}

TEST_F(CoreWatchTest, requests_read_no_file) {
  static_cast<void>(watch_.check(beginning, 1, false));
  runnable(99);
  EXPECT_FALSE(watch_.all_busy(beginning + 1us)) << "as at the last look";
  EXPECT_TRUE(watch_.check(beginning + 1ms, 1, false).all_busy);
  EXPECT_TRUE(watch_.all_busy(beginning + 1ms));
  runnable(1);
  EXPECT_TRUE(watch_.all_busy(beginning + 2ms)) << "as at the last look";
}

TEST_F(CoreWatchTest, looks_each_millisecond_and_less_often_while_all_cores_are_busy) {
  EXPECT_EQ(watch_.check(beginning, 1, true).next.due, beginning + CoreWatch::idle_period);
  runnable(99);
  EXPECT_EQ(watch_.check(beginning, 1, true).next.due, beginning + busy_period);
  watch_.set_busy_period(2 * busy_period);
  EXPECT_EQ(watch_.check(beginning, 1, true).next.due, beginning + 2 * busy_period);
}

TEST_F(CoreWatchTest, a_thread_that_would_serve_needs_a_core_too) {
  runnable(machine + 1);  // One per core, and the thread that looks.
  EXPECT_FALSE(watch_.check(beginning, 1, true).all_busy) << "one of the four serves";
  EXPECT_TRUE(watch_.check(beginning, 0, true).all_busy) << "none of the four serves";
}

TEST_F(CoreWatchTest, sleeps_without_a_timer_after_two_looks_that_no_thread_asked_for) {
  EXPECT_TRUE(watch_.check(beginning, 1, false).next.by_timer);
  EXPECT_FALSE(watch_.check(beginning, 1, false).next.by_timer);
  EXPECT_TRUE(watch_.all_busy(beginning)) << "no look renews the word";
}

TEST_F(CoreWatchTest, keeps_looking_while_threads_ask_or_wait) {
  Instant now = beginning;
  for (int check = 0; check < 10; ++check) {
    static_cast<void>(watch_.all_busy(now));
    EXPECT_TRUE(watch_.check(now, 1, false).next.by_timer);
    now += 1ms;
  }
  for (int check = 0; check < 10; ++check) EXPECT_TRUE(watch_.check(now, 0, true).next.by_timer);
}

TEST_F(CoreWatchTest, says_when_a_core_is_idle_again) {
  EXPECT_TRUE(watch_.check(beginning, 1, true).idle_again) << "it was not known before";
  EXPECT_FALSE(watch_.check(beginning, 1, true).idle_again);
  runnable(99);
  EXPECT_FALSE(watch_.check(beginning, 1, true).idle_again);
  runnable(1);
  EXPECT_TRUE(watch_.check(beginning, 1, true).idle_again);
  static_cast<void>(watch_.check(beginning, 1, false));
  static_cast<void>(watch_.check(beginning, 1, false));  // Asleep.
  EXPECT_TRUE(watch_.check(beginning, 1, true).idle_again);
}

TEST_F(CoreWatchTest, the_thread_wakes_for_the_first_request_and_not_while_nothing_is_served) {
  ASSERT_TRUE(watch_.start([this] { return watch_.check(now(), 1, false).next; }).ok());
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(watch_.wakes(), 0u);
  for (int burst = 0; burst < 3; ++burst) {
    const Instant patience = now() + 10s;
    while (watch_.all_busy(now()) && now() < patience) std::this_thread::sleep_for(100us);
    EXPECT_FALSE(watch_.all_busy(now()));
    std::this_thread::sleep_for(50ms);  // Two more looks, and one for the last question.
    const std::uint64_t wakes = watch_.wakes();
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(watch_.wakes(), wakes);
  }
}

TEST_F(CoreWatchTest, cores_count_as_busy_after_the_thread_has_ended) {
  ASSERT_TRUE(watch_.start([this] { return watch_.check(now(), 1, false).next; }).ok());
  watch_.stop();
  EXPECT_TRUE(watch_.all_busy(now()));
  std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(watch_.all_busy(now()));
}

}  // namespace
}  // namespace k2k::server
