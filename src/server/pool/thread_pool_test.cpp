// Goal: work reaches idle threads, one thread stays idle, roles change hands, all threads end.
// Method: workers that only record their work; the test acts as the holder of a role if a case
// needs one.

#include "server/pool/thread_pool.hpp"

#include <asm/unistd.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "base/asymmetric_barrier.hpp"
#include "base/clock.hpp"
#include "server/pool/server_parts_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;
using Task = ThreadPool::Task;

class ThreadPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    register_asymmetric_barrier();
    parts->pool.run({.work = [this](ServiceThread& self) { work(self); },
                     .guard = [this](ServiceThread& self) { guard(self); }});
  }
  void TearDown() override {
    proceed = true;
    parts->pool.stop();
    EXPECT_TRUE(parts->threads.wait_ended(10s));
    parts->threads.release();
  }

  void start(std::uint32_t threads_max, int workers = 2) {
    config.threads_max = threads_max;
    parts->pool.resume(config);
    ASSERT_TRUE(parts->pool.add_workers(workers));
  }

  // A worker: its call lasts until `proceed`. It holds a role until the role is not wanted; if
  // `stuck`, it stays in a call until `proceed`.
  void work(ServiceThread& self) {
    while (true) {
      const ThreadPool::Work work = parts->pool.next_work(self);
      if (work.task == Task::end) return;
      if (work.task == Task::call) {
        ++calls_begun;
        wait_to_proceed();
        ++calls_ended;
      } else if (work.task == Task::role) {
        hold(self, *work.role);
      } else {
        ++others;
      }
      parts->pool.finish_work();
    }
  }
  void hold(ServiceThread& self, Role& role) {
    ++roles_begun;
    if (stuck) {
      parts->pool.begins_calls(role.calls_begun, ThreadPool::Writers::one);
      self.call.begin();
      wait_to_proceed();
      self.call.end();
    }
    if (!role.word.still_held_by(self.index)) {
      ++roles_lost;
      return;
    }
    while (parts->roles.wanted(role)) std::this_thread::sleep_for(100us);
    parts->pool.leave(self, role);
  }
  void guard(ServiceThread& self) {
    while (true) {
      const auto [task, role] = parts->pool.next_for_guard(self);
      if (task == ThreadPool::GuardTask::end) return;
      ++guarded;
      while (!parts->pool.relieve_guard(self, *role)) std::this_thread::sleep_for(100us);
      ++relieved;
    }
  }
  void wait_to_proceed() {
    while (!proceed) std::this_thread::sleep_for(100us);
  }
  template <class Done>
  static bool wait_until(const Done& done) {
    const Instant patience = now() + 10s;
    while (!done() && now() < patience) std::this_thread::sleep_for(100us);
    return done();
  }
  static Pending call_of(std::uint8_t lane) {
    Pending call;
    call.request.lane = lane;
    return call;
  }

  std::shared_ptr<ServerParts> parts = ServerParts::make();
  ServerConfig config;
  std::atomic<bool> stuck{true};
  std::atomic<bool> proceed{false};
  std::atomic<int> calls_begun{0};
  std::atomic<int> calls_ended{0};
  std::atomic<int> roles_begun{0};
  std::atomic<int> roles_lost{0};
  std::atomic<int> guarded{0};
  std::atomic<int> relieved{0};
  std::atomic<int> others{0};
};

TEST_F(ThreadPoolTest, keeps_one_thread_idle_and_makes_the_other_calls_later) {
  stuck = false;  // So the role keeps its holder.
  start(4);
  ASSERT_TRUE(wait_until([&] { return roles_begun == 1; }));
  for (std::uint8_t lane = 0; lane < 5; ++lane) parts->pool.queue(call_of(lane));
  EXPECT_TRUE(wait_until([&] { return calls_begun == 2; })) << "beside the role, one is left";
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(calls_begun, 2);
  proceed = true;
  EXPECT_TRUE(wait_until([&] { return calls_ended == 5; }));
}

TEST_F(ThreadPoolTest, takes_roles_over_and_calls_the_guard_when_it_is_used_up) {
  start(2);
  // One worker holds the role in a call that does not end; the other takes it over and is stuck,
  // too.
  ASSERT_TRUE(wait_until([&] { return guarded == 1; }));
  EXPECT_EQ(roles_begun, 2);
  EXPECT_EQ(relieved, 0) << "no thread is idle";
  proceed = true;
  EXPECT_TRUE(wait_until([&] { return relieved == 1 && roles_lost == 2; }));
  EXPECT_TRUE(wait_until([&] { return roles_begun == 3; })) << "the role is vacant again";
  Stats stats;
  parts->threads.add_to(stats);
  EXPECT_EQ(stats.takeovers, 2u);
}

TEST_F(ThreadPoolTest, pauses_once_the_role_is_left_and_goes_on) {
  proceed = true;
  start(3);
  ASSERT_TRUE(wait_until([&] { return roles_begun == 1; }));
  parts->pool.pause();
  EXPECT_EQ(parts->roles.held(), 0u);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(roles_begun, 1);
  parts->pool.resume(config);
  EXPECT_TRUE(wait_until([&] { return roles_begun == 2; }));
}

TEST_F(ThreadPoolTest, wakes_a_thread_for_split_work) {
  proceed = true;
  start(3);
  ASSERT_TRUE(wait_until([&] { return roles_begun == 1; }));
  ASSERT_EQ(parts->split.add({{0, 1}}), SplitQueue::Added::for_pool);
  parts->pool.wake_one();
  EXPECT_TRUE(wait_until([&] { return others == 1; }));
  parts->split.accept({});
}

TEST_F(ThreadPoolTest, hands_a_role_over_with_the_newest_call_to_make) {
  proceed = true;
  config.threads_max = 4;
  parts->pool.resume(config);
  ServiceThread& self = parts->threads.add_unit();
  parts->pool.finish_work();  // As a worker, idle.
  const ThreadPool::Work work = parts->pool.next_work(self);
  ASSERT_EQ(work.task, Task::role);

  std::vector<Pending> calls{call_of(1)};
  Pending first;
  EXPECT_FALSE(parts->pool.queue_or_follow(self, *work.role, calls, false, first));
  EXPECT_TRUE(calls.empty());
  EXPECT_EQ(parts->roles.held(), 1u);

  calls = {call_of(2), call_of(3)};
  EXPECT_TRUE(parts->pool.queue_or_follow(self, *work.role, calls, true, first));
  EXPECT_TRUE(calls.empty());
  EXPECT_EQ(first.request.lane, 3);
  EXPECT_TRUE(wait_until([&] { return roles_begun == 1 && calls_ended == 2; }));
}

TEST_F(ThreadPoolTest, abandons_the_role_of_a_thread_that_is_left_behind) {
  config.takeover_us = 100'000'000;
  start(2);
  ASSERT_TRUE(wait_until([&] { return roles_begun == 1; }));
  parts->pool.stop();
  EXPECT_FALSE(parts->threads.wait_ended(5ms));
  parts->pool.abandon_roles();
  proceed = true;
  EXPECT_TRUE(wait_until([&] { return roles_lost == 1; }));
}

}  // namespace
}  // namespace k2k::server
