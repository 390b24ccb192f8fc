// Goal: threads are started, counted and joined; an abandoned thread keeps its memory.

#include "server/pool/service_threads.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "services/walls/walls.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

// The data that the threads of a test use; the threads keep it alive.
struct Owner {
  SleepingCalls sleeping;
  ServiceThreads threads{sleeping};
  std::atomic<std::uint32_t> index_sum{0};
};

std::shared_ptr<Owner> make_owner() {
  auto owner = std::make_shared<Owner>();
  owner->threads.keep_alive(owner);
  return owner;
}

TEST(ServiceThreads, run_with_books_of_their_own_and_are_joined) {
  const auto owner = make_owner();
  for (int count = 0; count < 3; ++count) {
    ASSERT_TRUE(owner->threads.add(
        [&](ServiceThread& self) {
          owner->index_sum += self.index;
          self.stats.accepted.add(self.index);
          self.stats.answered.add();
        },
        "k2k/test%u", 0));
  }
  EXPECT_TRUE(owner->threads.wait_ended(10s));
  owner->threads.release();
  EXPECT_EQ(owner->index_sum, 1u + 2u + 3u);
  Stats stats;
  owner->threads.add_to(stats);
  EXPECT_EQ(stats.threads, 3u);
  EXPECT_EQ(stats.requests, 6u);
  EXPECT_EQ(stats.in_flight, 3u);
  EXPECT_EQ(owner->threads.counted().answered, 3u);
}

TEST(ServiceThreads, are_left_behind_and_keep_their_owner_alive) {
  std::atomic<bool> leave{false};
  std::weak_ptr<Owner> seen;
  {
    const auto owner = make_owner();
    seen = owner;
    ASSERT_TRUE(owner->threads.add(
        [&leave](ServiceThread&) {
          while (!leave) std::this_thread::yield();
        },
        "k2k/test"));
    EXPECT_FALSE(owner->threads.wait_ended(1ms));
    owner->threads.release();
  }
  EXPECT_FALSE(seen.expired());
  leave = true;
  const Instant patience = now() + 10s;
  while (!seen.expired() && now() < patience) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(seen.expired());
}

TEST(ServiceThreads, start_no_more_once_they_are_released) {
  const auto owner = make_owner();
  owner->threads.release();
  EXPECT_FALSE(owner->threads.add([](ServiceThread&) {}, "k2k/test"));
  EXPECT_TRUE(owner->threads.wait_ended(0ms));
}

TEST(ServiceThreads, have_books_for_units_which_are_no_threads_of_the_server) {
  const auto owner = make_owner();
  ServiceThread& unit = owner->threads.add_unit();
  EXPECT_TRUE(unit.is_unit);
  unit.stats.accepted.add(2);
  EXPECT_TRUE(owner->threads.wait_ended(0ms));
  Stats stats;
  owner->threads.add_to(stats);
  EXPECT_EQ(stats.threads, 0u);
  EXPECT_EQ(stats.requests, 2u);
  owner->threads.release();
}

TEST(ServiceThreads, show_their_calls) {
  const auto owner = make_owner();
  ServiceThread& unit = owner->threads.add_unit();
  EXPECT_EQ(owner->threads.calls_of_roles(), 0u);
  unit.call.begin();
  EXPECT_TRUE(telemetry::Mark::inside(owner->threads.call_of(unit.index).view()));
  EXPECT_EQ(owner->threads.calls_of_roles(), 1u);
  unit.call.end();
  EXPECT_FALSE(telemetry::Mark::inside(owner->threads.call_of(unit.index).view()));
}

// --- Walls: a call that every policy refuses, with arguments that make it harmless.

std::int64_t unshare_nothing() { return system_call(SYS_unshare, 0ul); }

TEST(ServiceThreads, are_behind_walls_before_they_serve) {
  const auto owner = make_owner();
  const auto walls = services::Walls::create({.strict = true});
  ASSERT_TRUE(walls) << walls.error().message;
  owner->threads.enclose_in(walls.value());
  std::atomic<int> refused{0};
  const auto serve = [&](ServiceThread&) {
    if (walls.value()->enclose_this_thread() && unshare_nothing() == -EPERM) ++refused;
  };
  ASSERT_TRUE(owner->threads.add(serve, "k2k/test"));
  ASSERT_TRUE(owner->threads.add(
      [&](ServiceThread& self) {
        serve(self);
        EXPECT_TRUE(owner->threads.add(serve, "k2k/test"));  // Inherits.
      },
      "k2k/test"));
  EXPECT_TRUE(owner->threads.wait_ended(10s));
  owner->threads.release();
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(unshare_nothing(), 0);
}

TEST(ServiceThreads, inherit_walls_instead_of_building_them_again) {
  const auto owner = make_owner();
  std::atomic<int> built{-1};  // Less the trial's.
  services::WallKernel kernel = services::WallKernel::of_linux();
  kernel.set_filter = [&built](const services::FilterProgram&) { return ++built * 0; };
  const auto walls = services::Walls::create({}, kernel);
  ASSERT_TRUE(walls) << walls.error().message;
  owner->threads.enclose_in(walls.value());
  std::function<void(int)> start_a_chain = [&](int left) {
    if (left == 0) return;
    EXPECT_TRUE(
        owner->threads.add([&, left](ServiceThread&) { start_a_chain(left - 1); }, "k2k/test"));
  };
  start_a_chain(5);
  EXPECT_TRUE(owner->threads.wait_ended(10s));
  owner->threads.release();
  EXPECT_EQ(built, 1);
}

TEST(ServiceThreads, do_not_serve_without_their_walls) {
  const auto owner = make_owner();
  std::atomic<bool> fails{false};
  services::WallKernel kernel = services::WallKernel::of_linux();
  kernel.set_filter = [&fails](const services::FilterProgram&) { return fails ? ENOMEM : 0; };
  const auto walls = services::Walls::create({}, kernel);
  ASSERT_TRUE(walls) << walls.error().message;
  owner->threads.enclose_in(walls.value());
  std::atomic<int> served{0};
  const auto serve = [&served](ServiceThread&) { ++served; };
  fails = true;
  EXPECT_FALSE(owner->threads.add(serve, "k2k/test"));
  fails = false;
  EXPECT_TRUE(owner->threads.add(serve, "k2k/test"));
  EXPECT_TRUE(owner->threads.wait_ended(10s));
  owner->threads.release();
  EXPECT_EQ(served, 1);
}

}  // namespace
}  // namespace k2k::server
