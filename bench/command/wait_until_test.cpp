// Goal: two threads that wait for each other on one core take turns at once, not after the time
// slice of the thread that looks.
// Method: CPU time, because other programs do not add to it.

#include "bench/command/wait_until.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.hpp"

namespace k2k::bench {
namespace {

using namespace std::chrono_literals;

TEST(WaitUntil, gives_the_core_away) {
#if defined(K2K_TSAN)
  GTEST_SKIP() << "ThreadSanitizer makes each look a hundred times as long";
#endif
  constexpr std::uint32_t turns = 200;
  std::atomic<std::uint32_t> turn{0};
  const int core = ::sched_getcpu();
  ASSERT_GE(core, 0);
  std::atomic<std::int64_t> cpu_ns{0};
  const auto player = [&](std::uint32_t parity) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(core), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    const Nanoseconds begin = thread_time();
    for (std::uint32_t own = parity; own < turns; own += 2) {
      wait_until([&] { return turn.load(std::memory_order_acquire) == own; });
      turn.store(own + 1, std::memory_order_release);
    }
    cpu_ns += (thread_time() - begin).count();
  };
  std::thread even(player, 0);
  std::thread odd(player, 1);
  even.join();
  odd.join();
  EXPECT_EQ(turn.load(), turns);
  // A time slice is more than a millisecond.
  EXPECT_LT(Nanoseconds(cpu_ns.load()), turns * 500us);
}

}  // namespace
}  // namespace k2k::bench
