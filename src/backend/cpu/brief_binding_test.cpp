// Goal: a thread wakes on the CPU that it was bound to, and may use its CPUs as before from then
// on.

#include "backend/cpu/brief_binding.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "backend/futex.hpp"
#include "base/cores.hpp"

namespace k2k::backend::cpu {
namespace {

std::vector<int> cpus_of(pthread_t thread) {
  cpu_set_t set;
  EXPECT_EQ(::pthread_getaffinity_np(thread, sizeof(set), &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void stay_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cpu), &one);
  EXPECT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
}

// A thread that sleeps, and then tells on which CPU it woke.
class Sleeper {
 public:
  explicit Sleeper(int only = -1)
      : thread_([this, only] {
          if (only >= 0) stay_on(only);
          ready_ = true;
          while (order_.load() == 0) futex_wait(order_, 0);
          woke_on_ = sched_getcpu();
          binding.end();
          cpus_after_ = cpus_of(pthread_self());
        }) {
    while (!ready_) std::this_thread::yield();
  }
  pthread_t handle() { return thread_.native_handle(); }
  void wake() {
    order_ = 1;
    futex_wake_all(order_);
    thread_.join();
  }
  [[nodiscard]] int woke_on() const { return woke_on_; }
  [[nodiscard]] const std::vector<int>& cpus_after() const { return cpus_after_; }

  BriefBinding binding;

 private:
  std::atomic<bool> ready_{false};
  std::atomic<std::uint32_t> order_{0};
  int woke_on_ = -1;
  std::vector<int> cpus_after_;
  std::thread thread_;
};

TEST(BriefBinding, wakes_a_thread_on_each_cpu_and_ends_there) {
  const std::vector<int> usable = cpus_of(pthread_self());
  for (const int cpu : usable) {
    Sleeper sleeper;
    sleeper.binding.bind(sleeper.handle(), cpu);
    EXPECT_EQ(cpus_of(sleeper.handle()), std::vector<int>{cpu});
    sleeper.wake();
    EXPECT_EQ(sleeper.woke_on(), cpu);
    EXPECT_EQ(sleeper.cpus_after(), usable);
  }
}

TEST(BriefBinding, leaves_a_thread_that_may_not_use_the_cpu_as_it_is) {
  const std::vector<int> usable = cpus_of(pthread_self());
  if (usable.size() < 2) GTEST_SKIP() << "one CPU";
  Sleeper sleeper(usable.front());
  for (const int cpu : {usable.back(), -1}) {
    sleeper.binding.bind(sleeper.handle(), cpu);
    EXPECT_EQ(cpus_of(sleeper.handle()), std::vector<int>{usable.front()});
  }
  sleeper.wake();
  EXPECT_EQ(sleeper.cpus_after(), std::vector<int>{usable.front()});
}

}  // namespace
}  // namespace k2k::backend::cpu
