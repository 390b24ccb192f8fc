// Goal: the end of its launch or of the server ends a sleeping call, and no other call.

#include "server/waits/sleeping_calls.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <thread>

#include "base/clock.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

// A thread in a call that sleeps for a minute.
class Sleeping {
 public:
  Sleeping(SleepingCalls& calls, SleepingCalls::Owner owner)
      : thread_([this, &calls, owner] {
          calls.join(self_);
          calls.begin(self_, owner);
          begun_ = true;
          const timespec minute{60, 0};
          failed_ = ::nanosleep(&minute, nullptr) != 0 && errno == EINTR;
          interrupted_ = calls.end(self_);
          calls.leave(self_);
          ended_ = true;
        }) {
    while (!begun_) std::this_thread::yield();
  }
  ~Sleeping() { thread_.join(); }
  Sleeping(const Sleeping&) = delete;
  Sleeping& operator=(const Sleeping&) = delete;

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool was_interrupted() const { return failed_ && interrupted_; }

 private:
  SleepingCalls::Sleeper self_;
  std::atomic<bool> begun_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> ended_{false};
  std::thread thread_;  // The last member: it uses the others.
};

// A signal may come before the thread has entered Linux, so it is sent again.
void interrupt_until_none(SleepingCalls& calls, bool detached_too) {
  const Instant patience = now() + 10s;
  while (calls.interrupt(detached_too) && now() < patience) std::this_thread::sleep_for(1ms);
}

TEST(SleepingCalls, are_interrupted_until_none_is_left) {
  SleepingCalls calls;
  Sleeping one(calls, SleepingCalls::Owner::launch);
  Sleeping other(calls, SleepingCalls::Owner::launch);
  interrupt_until_none(calls, false);
  EXPECT_FALSE(calls.interrupt(true));
  const Instant patience = now() + 10s;
  while ((!one.ended() || !other.ended()) && now() < patience) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(one.was_interrupted());
  EXPECT_TRUE(other.was_interrupted());
}

TEST(SleepingCalls, that_are_detached_outlive_their_launch) {
  SleepingCalls calls;
  Sleeping detached(calls, SleepingCalls::Owner::detached);
  EXPECT_FALSE(calls.interrupt(false));
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(detached.ended());
  interrupt_until_none(calls, true);
  const Instant patience = now() + 10s;
  while (!detached.ended() && now() < patience) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(detached.was_interrupted());
}

TEST(SleepingCalls, leave_other_calls_of_their_thread_alone) {
  SleepingCalls calls;
  SleepingCalls::Sleeper self;
  calls.join(self);
  EXPECT_FALSE(calls.interrupt(true)) << "it is in no such call";
  calls.begin(self, SleepingCalls::Owner::launch);
  EXPECT_TRUE(calls.interrupt(false));
  EXPECT_TRUE(calls.end(self));
  const timespec moment{0, 1'000'000};
  EXPECT_EQ(::nanosleep(&moment, nullptr), 0) << "the signal has arrived already";
  EXPECT_FALSE(calls.end(self)) << "that call was not interrupted";
  calls.leave(self);
  EXPECT_FALSE(calls.interrupt(true));
}

}  // namespace
}  // namespace k2k::server
