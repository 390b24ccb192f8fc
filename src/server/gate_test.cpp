// Goal: a capped server takes its share and no more, however its threads spend it; nobody is kept
// asleep when roles change hands or the cap does.

#include "server/gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

ServerConfig capped(std::uint32_t permille) {
  ServerConfig config;
  config.cap_permille = permille;
  return config;
}

void burn(Nanoseconds cpu) {
  const Nanoseconds end = thread_time() + cpu;
  while (thread_time() < end) {
  }
}

double fraction_of(std::uint32_t permille) {
  return permille / 1000.0 * std::thread::hardware_concurrency();
}

TEST(Gate, lets_everybody_pass_without_a_cap) {
  Gate gate;
  ASSERT_TRUE(gate.configure({}).ok());
  EXPECT_FALSE(gate.governed());
  Gate::Account account;
  for (int request = 0; request < 1000; ++request) EXPECT_FALSE(gate.pass(account, 1));
  gate.leave(account);
  EXPECT_EQ(gate.stats().cap, 0);
}

// Requests of 50 us for 600 ms; the CPU time the thread used, as a part of the time of day.
double share_under(Gate& gate, int threads) {
  std::atomic<std::int64_t> used{0};
  const Instant begin = now();
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&] {
      Gate::Account account;
      while (now() - begin < 600ms) {
        gate.pass(account, 1);
        burn(50us);
      }
      gate.leave(account);
      used += thread_time().count();
    });
  }
  for (std::thread& thread : all) thread.join();
  return static_cast<double>(used) / static_cast<double>((now() - begin).count());
}

TEST(Gate, keeps_one_thread_to_the_cap) {
  Gate gate;
  ASSERT_TRUE(gate.configure(capped(100)).ok());
  // The burst of the first moment is a part of so short a measurement.
  EXPECT_LT(share_under(gate, 1), fraction_of(100) * 1.25);
  EXPECT_GT(gate.stats().waits, 0u);
  EXPECT_GT(gate.stats().throttled_seconds, 0);
}

TEST(Gate, keeps_several_threads_to_the_cap_together) {
  Gate gate;
  ASSERT_TRUE(gate.configure(capped(100)).ok());
  EXPECT_LT(share_under(gate, 4), fraction_of(100) * 1.25);
}

TEST(Gate, charges_time_beside_requests) {
  Gate gate;
  ASSERT_TRUE(gate.configure(capped(10)).ok());
  Gate::Account account;
  gate.pass(account, 0);
  burn(20ms);  // Polling, say.
  gate.leave(account);
  const Instant before = now();
  EXPECT_TRUE(gate.pass(account, 0));  // Paid off before anything is served.
  EXPECT_GE(now() - before, 50ms);
}

TEST(Gate, forgets_what_was_spent_before_there_was_a_cap) {
  Gate gate;
  ASSERT_TRUE(gate.configure({}).ok());
  Gate::Account account;
  burn(20ms);
  gate.pass(account, 1);
  ASSERT_TRUE(gate.configure(capped(10)).ok());
  EXPECT_FALSE(gate.pass(account, 0));
}

// A thread in deep debt, asleep in pass().
class Debtor {
 public:
  explicit Debtor(Gate& gate) {
    thread_ = std::thread([this, &gate] {
      Gate::Account account;
      gate.pass(account, 0);
      burn(10ms);
      asleep_ = true;
      gate.pass(account, 1);
      passed_at_ = now();
    });
    while (!asleep_) std::this_thread::yield();
    std::this_thread::sleep_for(5ms);
  }
  Instant join() {
    thread_.join();
    return passed_at_;
  }

 private:
  std::atomic<bool> asleep_{false};
  Instant passed_at_{};
  std::thread thread_;
};

TEST(Gate, lets_a_sleeper_pass_when_it_is_suspended) {
  Gate gate;
  ASSERT_TRUE(gate.configure(capped(1)).ok());
  Debtor debtor(gate);
  const Instant before = now();
  gate.suspend();
  EXPECT_LT(debtor.join() - before, 500ms);  // It owes a second and more.
  Gate::Account account;
  EXPECT_FALSE(gate.pass(account, 0));
  gate.resume();
}

TEST(Gate, lets_a_sleeper_pass_when_the_cap_is_lifted) {
  Gate gate;
  ASSERT_TRUE(gate.configure(capped(1)).ok());
  Debtor debtor(gate);
  const Instant before = now();
  ASSERT_TRUE(gate.configure({}).ok());
  EXPECT_LT(debtor.join() - before, 500ms);
}

TEST(Gate, wakes_a_sleeper_when_the_cap_is_raised) {
  Gate gate;
  ASSERT_TRUE(gate.configure(capped(1)).ok());
  Debtor debtor(gate);
  const Instant before = now();
  ASSERT_TRUE(gate.configure(capped(1000)).ok());
  EXPECT_LT(debtor.join() - before, 500ms);
  EXPECT_DOUBLE_EQ(gate.stats().cap, 1);
}

TEST(Gate, keeps_to_the_published_rule_if_asked) {
  Gate gate;
  ServerConfig config = capped(100);
  config.governor = governor::Policy::backoff;
  ASSERT_TRUE(gate.configure(config).ok());
  share_under(gate, 1);
  EXPECT_GT(gate.stats().waits, 0u);
}

}  // namespace
}  // namespace k2k::server
