// Goal: a call that waits for its descriptor is answered once it is ready, or when waits are ended.

#include "server/pool/descriptor_watch.hpp"

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
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

}  // namespace
}  // namespace k2k::server
