// Goal: drain() ends whatever a device writes into its slots, and not before the host's own
// requests are answered. Method: a real server on plain memory; the test is the hostile device.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "calls/rows.hpp"
#include "server/server.hpp"
#include "services/fake_backend_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;
using protocol::SlotState;

struct ForgingDevice : services::FakeBackend {
  void wait_doorbell(const std::uint64_t*, Nanoseconds longest) override {
    std::this_thread::sleep_for(std::min<Nanoseconds>(longest, 100us));
  }
  void forge(std::uint32_t wave, std::uint32_t lane, SlotState state) {
    protocol::Slot& slot = plain.view().slot(wave, lane);
    protocol::store_release(
        &slot.control, protocol::pack(protocol::Control{state, protocol::TransportError::none, 0}));
  }
};

class Drain : public testing::Test {
 protected:
  void SetUp() override {
    auto started = Server::start(device, {}, {});
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(started).value();
  }
  // drain() on a thread of its own.
  void begin_drain() {
    drainer = std::thread([this] {
      server->drain();
      ended = true;
    });
  }
  bool ends_within(Nanoseconds longest) {
    const Instant patience = now() + longest;
    while (!ended && now() < patience) std::this_thread::sleep_for(1ms);
    return ended;
  }

  ForgingDevice device;
  std::unique_ptr<Server> server;
  std::thread drainer;
  std::atomic<bool> ended{false};
};

TEST_F(Drain, ends_beside_slots_that_the_device_calls_accepted) {
  for (std::uint32_t lane = 0; lane < 4; ++lane) device.forge(1, lane, SlotState::processing);
  begin_drain();
  EXPECT_TRUE(ends_within(10s));
  // Otherwise the server's end would answer them.
  for (std::uint32_t lane = 0; lane < 4; ++lane) device.forge(1, lane, SlotState::free);
  drainer.join();
}

TEST_F(Drain, waits_for_requests_beside_forged_slots) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  char letter = 0;
  const std::uint64_t words[] = {static_cast<std::uint64_t>(pipe[0]),
                                 reinterpret_cast<std::uint64_t>(&letter), 1};
  protocol::Slot& slot = device.plain.view().slot(2, 0);
  std::copy(std::begin(words), std::end(words), slot.arguments);
  device.plain.publish(2, 0, SYS_read);
  device.plain.ring(2, 1);
  device.forge(1, 0, SlotState::processing);
  begin_drain();
  EXPECT_FALSE(ends_within(100ms)) << "a read waits for the pipe";
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_TRUE(ends_within(10s));
  device.forge(1, 0, SlotState::free);
  drainer.join();
  EXPECT_EQ(letter, 'x');
  for (const int descriptor : pipe) ::close(descriptor);
}

}  // namespace
}  // namespace k2k::server
