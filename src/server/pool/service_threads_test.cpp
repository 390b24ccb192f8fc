// Goal: threads are started, counted and joined; a thread that is left behind keeps its memory.

#include "server/pool/service_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "base/clock.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

// What the threads of a test need; they keep it alive.
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

}  // namespace
}  // namespace k2k::server
