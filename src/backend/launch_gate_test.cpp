// Goal: waiting threads sleep while no kernel runs, and never miss a launch, doorbell or wake.
// Method: the device is a flag; a missed event would make the wait last for `ever`.

#include "backend/launch_gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace k2k::backend {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds ever = 60s;
constexpr auto not_long = 20s;
constexpr auto enough = 10s;

#if defined(K2K_TSAN)
constexpr int rounds = 2'000;
#else
constexpr int rounds = 20'000;
#endif

constexpr auto silent = [] { return false; };

class LaunchGateTest : public testing::Test {
 protected:
  [[nodiscard]] std::chrono::nanoseconds passed() const {
    return std::chrono::steady_clock::now() - begin_;
  }

  WakeWord word;
  LaunchGate gate{word};

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

TEST_F(LaunchGateTest, sleeps_as_long_as_it_may_while_nothing_runs) {
  EXPECT_EQ(gate.wait(silent, 30ms), LaunchWait::none);
  EXPECT_GE(passed(), 25ms);
}

TEST_F(LaunchGateTest, does_not_wait_while_a_kernel_runs) {
  gate.open();
  bool asked = false;
  const auto rung = [&asked] { return asked = true; };
  EXPECT_EQ(gate.wait(rung, ever), LaunchWait::in_progress);
  EXPECT_FALSE(asked) << "the rings are the poller's while a kernel runs";
  gate.close();
  EXPECT_EQ(gate.wait(silent, 1ms), LaunchWait::none);
  EXPECT_LT(passed(), not_long);
}

TEST_F(LaunchGateTest, opened_silently_wakes_nobody_and_lets_nobody_wait) {
  const auto launch_before_the_sleep = [&] {
    gate.open_silently();
    return false;
  };
  EXPECT_EQ(gate.wait(launch_before_the_sleep, 50ms), LaunchWait::began);
  EXPECT_GE(passed(), 45ms) << "it did not sleep";
  EXPECT_EQ(gate.wait(silent, ever), LaunchWait::in_progress);
  EXPECT_LT(passed(), not_long);
}

TEST_F(LaunchGateTest, does_not_sleep_while_a_doorbell_of_the_last_launch_is_left) {
  EXPECT_EQ(gate.wait([] { return true; }, ever), LaunchWait::none);
  EXPECT_LT(passed(), not_long);
}

TEST_F(LaunchGateTest, keeps_a_wake_without_a_waiter_for_one_wait) {
  word.wake();
  EXPECT_EQ(gate.wait(silent, ever), LaunchWait::none);
  EXPECT_LT(passed(), not_long);
  const auto before = passed();
  EXPECT_EQ(gate.wait(silent, 30ms), LaunchWait::none);
  EXPECT_GE(passed() - before, 25ms);
}

TEST_F(LaunchGateTest, is_ended_by_a_wake) {
  std::atomic<bool> ended{false};
  std::thread waker([&] {
    // Repeatedly: the waiter may not have come yet, and a wake ends one wait.
    while (!ended) {
      word.wake();
      std::this_thread::sleep_for(1ms);
    }
  });
  EXPECT_EQ(gate.wait(silent, ever), LaunchWait::none);
  ended = true;
  waker.join();
  EXPECT_LT(passed(), not_long);
}

// A thread that waits only after the launch began finds it in progress: then there is another
// round.
TEST_F(LaunchGateTest, lets_all_waiting_threads_through_when_a_launch_begins) {
  constexpr int threads = 3;
  int began_together = 0;
  while (began_together < threads && passed() < ever) {
    std::atomic<int> began{0};
    std::vector<std::thread> servers;
    for (int server = 0; server < threads; ++server) {
      servers.emplace_back([&] {
        LaunchWait launch = LaunchWait::none;
        while (launch == LaunchWait::none) launch = gate.wait(silent, ever);
        began += launch == LaunchWait::began;
      });
    }
    std::this_thread::sleep_for(20ms);
    const auto before = passed();
    gate.open();
    for (std::thread& server : servers) server.join();
    gate.close();
    EXPECT_LT(passed() - before, not_long);
    began_together = began;
  }
  EXPECT_EQ(began_together, threads);
}

// The race in the head's drawing: a launch that begins while a server goes to sleep. The kernel
// ends only after a server has looked, so a server that missed the launch stops the test.
TEST_F(LaunchGateTest, never_sleeps_through_a_launch) {
  std::atomic<std::uint32_t> launched{0};
  std::atomic<std::uint32_t> served{0};
  std::atomic<bool> over{false};
  const auto serve = [&] {
    while (!over) {
      const std::uint32_t kernel = launched.load();
      if (kernel != served.load()) {
        served = kernel;
        continue;
      }
      if (gate.wait(silent, ever) == LaunchWait::in_progress) std::this_thread::yield();
    }
  };
  std::thread one(serve);
  std::thread other(serve);
  bool missed = false;
  // Fewer rounds where other programs take the cores.
  for (std::uint32_t kernel = 1; kernel <= rounds && passed() < enough && !missed; ++kernel) {
    const auto begin = passed();
    gate.open();
    launched = kernel;
    while (served.load() != kernel && !missed) {
      std::this_thread::yield();
      missed = passed() - begin > not_long;
    }
    gate.close();
  }
  EXPECT_FALSE(missed) << "launch " << launched;
  over = true;
  gate.open();  // Sleeping threads leave.
  one.join();
  other.join();
}

// A thread that finds the gate closed sees the last launch's writes: a plain word carries them, so
// that ThreadSanitizer checks the order.
TEST_F(LaunchGateTest, shows_the_writes_of_the_last_launch) {
  std::uint64_t ring = 0;
  std::uint64_t seen = 0;
  gate.open();
  std::thread server([&] {
    const auto rung = [&] {
      seen = ring;
      return true;
    };
    while (gate.wait(rung, ever) == LaunchWait::in_progress) std::this_thread::yield();
  });
  ring = 7;
  gate.close();
  server.join();
  EXPECT_EQ(seen, 7u);
}

}  // namespace
}  // namespace k2k::backend
