// Goal: a host function that blocks keeps only its thread: neither a launch that ends early nor the
// server waits for it, and its later result is dropped.

#include "server/core/host_desk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>

#include "server/core/core_parts_fixture.hpp"
#include "services/functions/host_call_fixture.hpp"
#include "services/functions/host_callable.hpp"

namespace k2k::server {
namespace {

using calls::Direction;
using protocol::SlotState;
using namespace std::chrono_literals;
using services::HostCallOf;

// Functions that wait until the test opens them.
class HeldFunctions {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void wait_for(int inside) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ == inside; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

class HostDeskTest : public CoreTest {
 protected:
  HostDeskTest() {
    configure();
    for (auto& call : calls_) call = std::make_unique<HostCallOf>("fill", "void(out u64)");
    const auto fill = [this](Out<std::uint64_t> out) {
      held.pass();
      out[0] = 7;
      ended = true;
    };
    K2K_EXPECT(parts->functions
                   .add(services::HostCallable<void(Out<std::uint64_t>)>::function(
                       "fill", fill, HostClass::may_block))
                   .ok());
  }
  ~HostDeskTest() override { held.open(); }

  // A call of "fill" whose result goes to memory[lane].
  Pending fill(std::uint8_t lane, bool detached = false) {
    HostCallOf& call = *calls_.at(lane);
    call.with_buffer(0, &memory[lane], sizeof(memory[lane]), Direction::out);
    Pending pending;
    pending.request = parts->accept(lane, calls::host_call_number);
    std::copy(std::begin(call.request.arguments), std::end(call.request.arguments),
              pending.request.arguments);
    if (detached) pending.request.attributes.flags |= protocol::flag::detached;
    return pending;
  }

  static constexpr std::size_t lanes = 20;
  std::array<std::unique_ptr<HostCallOf>, lanes> calls_;
  std::array<std::uint64_t, lanes> memory{};
  HeldFunctions held;
  std::atomic<bool> ended{false};
};

TEST_F(HostDeskTest, takes_host_calls_alone) {
  Pending other;
  other.request = parts->accept(0, __NR_getpid);
  EXPECT_FALSE(parts->host_desk.take(other));
}

TEST_F(HostDeskTest, runs_as_many_functions_at_a_time_as_it_may_and_then_the_others) {
  for (std::uint8_t lane = 0; lane < lanes; ++lane) {
    ASSERT_TRUE(parts->host_desk.take(fill(lane)));
  }
  held.wait_for(HostDesk::threads_max);
  EXPECT_EQ(state(1, 0), SlotState::processing);
  held.open();
  for (std::uint8_t lane = 0; lane < lanes; ++lane) {
    ASSERT_TRUE(finishes(1, lane));
    EXPECT_EQ(answer(1, lane), 0);
    EXPECT_EQ(memory[lane], 7u);
  }
}

TEST_F(HostDeskTest, answers_for_a_launch_that_ends_early_and_drops_what_functions_return) {
  for (std::uint8_t lane = 0; lane < lanes; ++lane) {
    ASSERT_TRUE(parts->host_desk.take(fill(lane, lane == 1)));
  }
  held.wait_for(HostDesk::threads_max);
  parts->backend.is_abandoned = true;
  parts->host_desk.abandon();
  for (std::uint8_t lane = 0; lane < lanes; ++lane) {
    if (lane == 1) continue;
    ASSERT_TRUE(finishes(1, lane)) << int{lane};
    EXPECT_EQ(answer(1, lane), -ECANCELED) << int{lane};
  }
  EXPECT_EQ(state(1, 1), SlotState::processing) << "detached calls outlive their launch";
  held.open();
  const Instant patience = now() + 10s;
  while (state(1, 1) == SlotState::processing && now() < patience) std::this_thread::yield();
  EXPECT_EQ(state(1, 1), SlotState::free);
  EXPECT_EQ(memory[1], 7u);
  parts->host_desk.stop();
  EXPECT_TRUE(parts->threads.wait_ended(10s));
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    EXPECT_EQ(memory[lane], lane == 1 ? 7u : 0u) << lane;
  }
}

TEST_F(HostDeskTest, begins_no_function_for_a_launch_that_ended_early) {
  held.open();
  parts->backend.is_abandoned = true;
  const Pending call = fill(0);
  EXPECT_FALSE(parts->host_desk.take(call));
  parts->host_desk.run(self, call);
  EXPECT_EQ(state(1, 0), SlotState::finished);
  EXPECT_EQ(answer(1, 0), -ECANCELED);
  EXPECT_FALSE(ended);
}

TEST_F(HostDeskTest, serves_the_next_launch_although_functions_of_the_last_one_hang) {
  ASSERT_TRUE(parts->host_desk.take(fill(0)));
  held.wait_for(1);
  parts->backend.is_abandoned = true;
  parts->host_desk.abandon();
  ASSERT_TRUE(finishes(1, 0));
  parts->backend.is_abandoned = false;
  ASSERT_TRUE(parts->functions
                  .add(services::HostCallable<int()>::function(
                      "five", [] { return 5; }, HostClass::may_block))
                  .ok());
  const HostCallOf five("five", "i32()");
  Pending pending;
  pending.request = parts->accept(2, calls::host_call_number);
  std::copy(std::begin(five.request.arguments), std::end(five.request.arguments),
            pending.request.arguments);
  ASSERT_TRUE(parts->host_desk.take(pending));
  ASSERT_TRUE(finishes(1, 2));
  EXPECT_EQ(answer(1, 2), 5);
}

TEST_F(HostDeskTest, ends_although_functions_hang_and_touches_no_memory_afterwards) {
  ASSERT_TRUE(parts->host_desk.take(fill(0)));
  ASSERT_TRUE(parts->host_desk.take(fill(1, true)));
  held.wait_for(2);
  parts->host_desk.stop();
  EXPECT_EQ(state(1, 0), SlotState::processing) << "the end of the server answers it";
  // Acts as a delayed thread of the pool.
  Pending wild = fill(2);
  wild.request.arguments[calls::host_frame_word] = 16;
  EXPECT_FALSE(parts->host_desk.take(wild));
  parts->host_desk.run(self, wild);
  EXPECT_EQ(answer(1, 2), -ECANCELED) << "its frame was not looked at";
  held.open();
  EXPECT_TRUE(parts->threads.wait_ended(10s));
  EXPECT_EQ(memory[0], 0u);
  EXPECT_EQ(memory[1], 0u);
}

}  // namespace
}  // namespace k2k::server
