// Goal: a call that waits for its descriptor is answered once it is ready, or when waits are ended;
// the waiting thread is woken for a new call only if it would look too late. Method: an event
// descriptor that keeps what is written to it, and wakes nobody until the test passes it on.

#include "server/pool/descriptor_watch.hpp"

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "server/pool/server_parts_fixture.hpp"
#include "services/services.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;
using protocol::SlotState;
using protocol::TransportError;

// The parts and the watch; the watch's thread keeps them alive.
struct WatchedParts : ServerParts {
  DescriptorWatch watch{set_aside};
};

class DescriptorWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    parts->threads.keep_alive(parts);
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  }
  void TearDown() override {
    parts->watch.stop();
    parts->interrupt_until_ended();
    for (const int descriptor : pipe) ::close(descriptor);
  }
  void open_event() { parts->watch.wake_by(Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))); }
  // A read of the empty pipe, tried once.
  Pending read_of(std::uint8_t lane) { return parts->tried_read(lane, pipe[0], buffer); }
  bool is_answered(const Pending& call) { return parts->is_answered(call.request); }

  std::shared_ptr<WatchedParts> parts = std::make_shared<WatchedParts>();
  std::array<int, 2> pipe{};
  std::array<char, 8> buffer{};
};

TEST_F(DescriptorWatchTest, answers_a_call_once_its_descriptor_is_ready) {
  open_event();
  const Pending first = read_of(0);
  const Pending second = read_of(1);
  ASSERT_TRUE(parts->watch.take(first));
  ASSERT_TRUE(parts->watch.take(second));
  EXPECT_EQ(parts->control_of(first.request).state, SlotState::processing);
  ASSERT_EQ(::write(pipe[1], "12345678", 8), 8);
  ASSERT_TRUE(is_answered(first));
  EXPECT_EQ(parts->value_of(first.request), 8);
  EXPECT_EQ(parts->control_of(second.request).state, SlotState::processing) << "nothing was left";
  ASSERT_EQ(::write(pipe[1], "123", 3), 3);
  ASSERT_TRUE(is_answered(second));
  EXPECT_EQ(parts->value_of(second.request), 3);
}

TEST_F(DescriptorWatchTest, leaves_other_calls_to_the_pool) {
  open_event();
  Pending call;
  call.request = parts->accept(0, __NR_nanosleep);
  EXPECT_FALSE(parts->watch.take(call)) << "it waits for no descriptor";
  Stats stats;
  parts->threads.add_to(stats);
  EXPECT_EQ(stats.threads, 0u) << "no thread was started for it";
}

TEST_F(DescriptorWatchTest, leaves_calls_to_the_pool_where_it_cannot_be_woken) {
  EXPECT_FALSE(parts->watch.take(read_of(0)));
}

TEST_F(DescriptorWatchTest, ends_all_waits_when_it_is_stopped) {
  open_event();
  const Pending call = read_of(0);
  ASSERT_TRUE(parts->watch.take(call));
  parts->watch.stop();
  ASSERT_TRUE(is_answered(call));
  EXPECT_EQ(parts->control_of(call.request).error, TransportError::shutdown);
  EXPECT_FALSE(parts->watch.take(read_of(1)));
}

TEST_F(DescriptorWatchTest, answers_each_call_that_it_took_before_its_end) {
  // stop() races with take(): a call is answered, or was not taken.
  open_event();
  std::atomic<bool> stopped{false};
  std::thread stopper([&] {
    std::this_thread::sleep_for(1ms);
    parts->watch.stop();
    stopped = true;
  });
  std::vector<Pending> taken;
  for (std::uint8_t lane = 0; lane < 32 && !stopped; ++lane) {
    const Pending call = read_of(lane);
    if (parts->watch.take(call)) taken.push_back(call);
  }
  stopper.join();
  EXPECT_TRUE(parts->threads.wait_ended(10s));
  for (const Pending& call : taken) EXPECT_TRUE(is_answered(call));
}

TEST_F(DescriptorWatchTest, ends_the_wait_of_a_call_that_comes_after_the_end_of_its_launch) {
  open_event();
  const Pending first = read_of(0);
  ASSERT_TRUE(parts->watch.take(first));
  parts->backend.is_abandoned = true;
  parts->watch.look_at_launch();
  ASSERT_TRUE(is_answered(first));
  int slow = 0;
  for (std::uint8_t lane = 1; lane < 8; ++lane) {
    const Pending late = read_of(lane);
    const Instant before = now();
    ASSERT_TRUE(parts->watch.take(late));
    ASSERT_TRUE(is_answered(late));
    EXPECT_EQ(parts->control_of(late.request).error, TransportError::shutdown);
    if (now() - before >= DescriptorWaits::check_every / 2) ++slow;
  }
  EXPECT_LE(slow, 1) << "each wakes the thread, though the machine may pause";
}

// The wakes stay in a socket until the test passes them on.
class KeptWakes : public DescriptorWatchTest {
 protected:
  static constexpr std::uint64_t one = 1;

  void SetUp() override {
    DescriptorWatchTest::SetUp();
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    parts->watch.wake_by(Descriptor(ends[0]));
    kept = Descriptor(ends[1]);
  }
  void TearDown() override {
    parts->watch.stop();
    pass_on();
    DescriptorWatchTest::TearDown();
  }
  // Takes the wakes written since the last call; returns their number.
  int wakes() {
    int count = 0;
    std::uint64_t value = 0;
    while (::read(kept.number(), &value, sizeof(value)) == sizeof(value)) ++count;
    return count;
  }
  void pass_on() { ASSERT_EQ(::write(kept.number(), &one, sizeof(one)), 8); }
  // Takes calls that are due soon, until one of them wakes the thread: it was blocked for longer.
  // Each is over before the next one comes. Returns the taken calls, or none if none woke it.
  std::vector<Pending> sleeps_until_woken() {
    std::vector<Pending> taken;
    for (std::uint8_t lane = 16; lane < 32; ++lane) {
      Pending call;
      call.request = parts->accept(lane, __NR_nanosleep);
      call.readiness.moment = now() + 100ms;
      EXPECT_TRUE(parts->watch.take(call));
      taken.push_back(call);
      pollfd written{kept.number(), POLLIN, 0};
      if (::poll(&written, 1, 300) == 1) return taken;
    }
    return {};
  }

  Descriptor kept;
};

TEST_F(KeptWakes, are_not_needed_for_calls_on_descriptors) {
  // The thread is awake, about to block, or blocked.
  int woken = 0;
  for (int round = 0; round < 200; ++round) {
    const Pending call = read_of(0);
    ASSERT_TRUE(parts->watch.take(call));
    if (round % 3 == 1) std::this_thread::sleep_for(100us);
    ASSERT_EQ(::write(pipe[1], "12345678", 8), 8);
    if (const int count = wakes(); count != 0) {  // The machine has paused for a second.
      woken += count;
      pass_on();
    }
    ASSERT_TRUE(is_answered(call)) << "nothing but epoll has woken the thread";
    EXPECT_EQ(parts->value_of(call.request), 8);
    parts->take_answer(call.request);
  }
  EXPECT_LE(woken, 2);
}

TEST_F(KeptWakes, come_once_for_calls_that_are_due_before_the_thread_looks) {
  const Pending read = read_of(0);
  ASSERT_TRUE(parts->watch.take(read));
  std::vector<Pending> sleeps = sleeps_until_woken();
  ASSERT_FALSE(sleeps.empty());
  Pending sooner;
  sooner.request = parts->accept(1, __NR_nanosleep);
  sooner.readiness.moment = now();
  ASSERT_TRUE(parts->watch.take(sooner));
  sleeps.push_back(sooner);
  EXPECT_EQ(wakes(), 1) << "the second call need not wake a thread that was woken";
  pass_on();
  for (const Pending& sleep : sleeps) {
    ASSERT_TRUE(is_answered(sleep));
    EXPECT_EQ(parts->value_of(sleep.request), 0);
  }
  EXPECT_EQ(parts->control_of(read.request).state, SlotState::processing);
}

TEST_F(KeptWakes, that_the_program_prevents_leave_calls_that_are_due_early_to_the_pool) {
  const Pending read = read_of(0);
  ASSERT_TRUE(parts->watch.take(read));
  const std::vector<Pending> sleeps = sleeps_until_woken();
  ASSERT_FALSE(sleeps.empty());
  EXPECT_EQ(wakes(), 1);
  pass_on();
  for (const Pending& sleep : sleeps) ASSERT_TRUE(is_answered(sleep));
  kept = Descriptor();  // A write gives EPIPE or ECONNREFUSED from now on.
  bool refused = false;
  for (std::uint8_t lane = 1; lane < 16 && !refused; ++lane) {
    Pending early;
    early.request = parts->accept(lane, __NR_nanosleep);
    early.readiness.moment = now() + 1ms;
    refused = !parts->watch.take(early);
    if (!refused) std::this_thread::sleep_for(5ms);
  }
  EXPECT_TRUE(refused);
  kept = Descriptor(::eventfd(0, EFD_CLOEXEC));  // For TearDown().
}

TEST_F(DescriptorWatchTest, loses_no_wake_while_calls_come_and_data_comes) {
  // Each thread has a pipe: its data races with its call, and with the other threads' calls.
  open_event();
  constexpr int threads = 4;
  constexpr int calls = 300;
  std::atomic<int> late{0};
  const auto work = [&](std::uint8_t lane) {
    std::array<int, 2> own{};
    std::array<char, 8> data{};
    ASSERT_EQ(::pipe2(own.data(), O_CLOEXEC), 0);
    for (int index = 0; index < calls; ++index) {
      const Pending call = parts->tried_read(lane, own[0], data);
      const Instant before = now();
      ASSERT_TRUE(parts->watch.take(call));
      ASSERT_EQ(::write(own[1], "1", 1), 1);
      ASSERT_TRUE(is_answered(call));
      EXPECT_EQ(parts->value_of(call.request), 1);
      // A lost report would be found by the renewal.
      if (now() - before >= DescriptorWaits::check_every / 2) late.fetch_add(1);
      parts->take_answer(call.request);
    }
    for (const int descriptor : own) ::close(descriptor);
  };
  std::vector<std::thread> workers;
  for (std::uint8_t lane = 0; lane < threads; ++lane) workers.emplace_back(work, lane);
  // Meanwhile calls that are due at once wake the thread.
  for (std::uint8_t lane = 8; lane < 32; ++lane) {
    Pending sleep;
    sleep.request = parts->accept(lane, __NR_nanosleep);
    sleep.readiness.moment = now() + 1ms;
    ASSERT_TRUE(parts->watch.take(sleep));
    ASSERT_TRUE(is_answered(sleep));
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_LE(late, 3) << "of a machine that pauses";
}

}  // namespace
}  // namespace k2k::server
