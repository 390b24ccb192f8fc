// Goal: no wake is lost between a refusal and the sleep that follows.

#include "server/govern/waiting_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

TEST(WaitingThreads, do_not_sleep_once_they_were_woken_after_the_question) {
  WaitingThreads waiting;
  const std::uint64_t ticket = waiting.ticket();
  waiting.wake_all();
  EXPECT_FALSE(waiting.sleep(ticket, Instant::max()));
  EXPECT_TRUE(waiting.sleep(waiting.ticket(), now() + 1ms)) << "the next question is another one";
}

TEST(WaitingThreads, let_the_thread_that_wakes_the_others_sleep) {
  WaitingThreads waiting;
  const std::uint64_t ticket = waiting.ticket();
  EXPECT_TRUE(waiting.sleep(waiting.wake_all(ticket), now() + 1ms));
  waiting.wake_all();
  EXPECT_FALSE(waiting.sleep(waiting.wake_all(ticket), Instant::max()))
      << "that wake was another's";
}

TEST(WaitingThreads, are_woken_by_a_suspension_and_find_it) {
  WaitingThreads waiting;
  std::atomic<bool> found{false};
  const std::uint64_t ticket = waiting.ticket();
  std::thread thread([&] {
    waiting.sleep(ticket, Instant::max());
    found = waiting.suspended();
  });
  waiting.suspend();
  thread.join();
  EXPECT_TRUE(found);
  waiting.resume();
  EXPECT_FALSE(waiting.suspended());
}

TEST(WaitingThreads, are_counted_while_they_wait_for_budget) {
  WaitingThreads waiting;
  EXPECT_EQ(waiting.count(), 0u);
  {
    const WaitingThreads::ForBudget one(waiting);
    const WaitingThreads::ForBudget other(waiting);
    EXPECT_EQ(waiting.count(), 2u);
  }
  EXPECT_EQ(waiting.count(), 0u);
}

}  // namespace
}  // namespace k2k::server
