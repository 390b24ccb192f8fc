// Goal: the keeper works when it is asked and when its timer says so, and sleeps without a timer
// otherwise.

#include "server/govern/keeper_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

void wait_for_wakes(const KeeperThread& thread, std::uint64_t wakes) {
  const Instant patience = now() + 10s;
  while (thread.wakes() < wakes && now() < patience) std::this_thread::sleep_for(1ms);
  EXPECT_GE(thread.wakes(), wakes);
}

TEST(KeeperThread, does_not_wake_while_no_thread_asks) {
  KeeperThread thread("k2k/test", "a test");
  ASSERT_TRUE(thread.start([] { return KeeperThread::Next{now(), false}; }).ok());
  thread.plan(now());
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(thread.wakes(), 0u);
  thread.wake();
  wait_for_wakes(thread, 1);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(thread.wakes(), 1u);
}

TEST(KeeperThread, wakes_once_a_period_however_many_threads_serve) {
  static constexpr Nanoseconds period = 20ms;
  KeeperThread thread("k2k/test", "a test");
  ASSERT_TRUE(thread.start([] { return KeeperThread::Next{now() + period, false}; }).ok());
  thread.plan(now());
  const Instant begin = now();
  std::vector<std::thread> serving;
  for (int server = 0; server < 4; ++server) {
    serving.emplace_back([&] {
      while (now() - begin < 200ms) thread.wake_if_due();
    });
  }
  for (std::thread& server : serving) server.join();
  const auto periods = static_cast<std::uint64_t>((now() - begin) / period);
  EXPECT_GE(thread.wakes(), 1u);
  EXPECT_LE(thread.wakes(), periods + 1);
}

TEST(KeeperThread, wakes_by_itself_while_its_work_wants_a_timer) {
  std::atomic<int> left{3};
  KeeperThread thread("k2k/test", "a test");
  ASSERT_TRUE(thread.start([&] { return KeeperThread::Next{now() + 2ms, --left > 0}; }).ok());
  thread.wake();
  wait_for_wakes(thread, 3);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(thread.wakes(), 3u);
}

TEST(KeeperThread, tells_waiting_threads_to_come_back_only_where_it_has_no_timer) {
  KeeperThread thread("k2k/test", "a test");
  const Instant moment = now();
  thread.plan(moment + 1s);
  EXPECT_EQ(thread.wake_by(moment), moment + 1s);
  EXPECT_EQ(thread.wake_by(moment + 2s), moment + 2s + 100ms) << "a refresh is under way";
  ASSERT_TRUE(thread.start([] { return KeeperThread::Next{now() + 1h, true}; }).ok());
  thread.wake();
  const Instant patience = now() + 10s;
  while (thread.wake_by(now()) != Instant::max() && now() < patience) std::this_thread::yield();
  EXPECT_EQ(thread.wake_by(now()), Instant::max());
}

TEST(KeeperThread, ends_out_of_a_sleep_with_a_timer_and_out_of_one_without) {
  for (const bool by_timer : {false, true}) {
    KeeperThread thread("k2k/test", "a test");
    ASSERT_TRUE(thread.start([by_timer] { return KeeperThread::Next{now() + 1h, by_timer}; }).ok());
    thread.wake();
    wait_for_wakes(thread, 1);
    const Instant before = now();
    thread.stop();
    EXPECT_LT(now() - before, 5s);
    EXPECT_FALSE(thread.started());
    thread.wake();  // As a thread that stop() abandoned in a call.
  }
}

}  // namespace
}  // namespace k2k::server
