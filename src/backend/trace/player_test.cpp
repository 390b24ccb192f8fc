// Goal: a replay ends when its trace does, when it is cancelled, and when the server closes.
// Method: plain memory; one thread is in play(), the test is the host.

#include "backend/trace/player.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/trace/format.hpp"
#include "base/bits.hpp"
#include "protocol/area_fixture.hpp"

namespace k2k::backend::trace {
namespace {

using namespace std::chrono_literals;
using protocol::Side;
using protocol::SlotState;

class PlayerTest : public testing::Test {
 protected:
  PlayerTest() {
    for (std::uint32_t ring = 0; ring < plain->ring_count; ++ring) {
      consumers.emplace_back(plain->rings[ring]);
      positions.push_back(0);
    }
  }
  ~PlayerTest() override {
    if (thread.joinable()) thread.join();
  }

  // Replays in a thread of its own, until end().
  void begin(const std::string& lines) {
    auto parsed = parse_trace(std::string(first_line) + "\n" + lines);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    events = std::move(parsed).value();
    source.emplace(events);
    ASSERT_TRUE(requests.prepare(*source, outstanding).ok());
    thread = std::thread([this] {
      const Replay replay{&*source, outstanding, {}, &report};
      ended = player.play(replay, requests, elapsed);
      over.store(true);
    });
  }
  Status end() {
    thread.join();
    return ended;
  }

  // Answers the requests whose doorbells were rung; returns their number.
  std::uint32_t answer() {
    std::uint32_t answered = 0;
    for (std::size_t ring = 0; ring < consumers.size(); ++ring) {
      protocol::Doorbell doorbell{};
      while (consumers[ring].poll(doorbell)) {
        for (std::uint64_t left = doorbell.lanes; left != 0; left &= left - 1) {
          protocol::Slot& slot = plain->slot(doorbell.wave, lowest_bit(left));
          const std::uint16_t number = observe(slot).number;
          protocol::move<SlotState::ready, SlotState::processing, Side::host>(slot, number);
          slot.arguments[0] = 0;
          protocol::move<SlotState::processing, SlotState::finished, Side::host>(slot, number);
          ++answered;
        }
        player.resume(&doorbell.wave, 1);
      }
      consumers[ring].publish();
      positions[ring] = consumers[ring].position();
    }
    return answered;
  }

  static constexpr std::uint32_t outstanding = 4;
  protocol::PlainArea plain;
  std::vector<protocol::RingConsumer> consumers;
  std::vector<std::uint64_t> positions;
  std::vector<Event> events;
  std::optional<ListedEvents> source;
  Requests requests;
  Report report;
  Nanoseconds elapsed{};
  Status ended;
  std::atomic<bool> over{false};
  Player player{plain.view()};
  std::thread thread;
};

TEST_F(PlayerTest, AReplayEndsWithItsTrace) {
  begin("0 nop\n10 nop\n2000 nop\n");
  std::uint32_t answered = 0;
  while (!over.load()) {
    player.wait_doorbell(positions.data(), 1ms);
    answered += answer();
  }
  EXPECT_TRUE(end().ok());
  EXPECT_EQ(answered, 3u);
  EXPECT_EQ(report.requests, 3u);
  EXPECT_EQ(report.answered, 3u);
  EXPECT_GE(elapsed, 2ms);
  EXPECT_EQ(report.elapsed, elapsed);
}

TEST_F(PlayerTest, APollerAdvancesAReplay) {
  begin("0 nop\n1000 nop\n");
  std::uint32_t answered = 0;
  while (!over.load()) {
    static_cast<void>(player.advance());
    answered += answer();
  }
  EXPECT_TRUE(end().ok());
  EXPECT_EQ(answered, 2u);
}

TEST_F(PlayerTest, CancelEndsAReplayWithoutRequestsAtTheHost) {
  int told = 0;
  player.on_abandon([&] { ++told; });
  begin("0 nop\n3600000000 nop\n");
  while (answer() == 0) player.wait_doorbell(positions.data(), 1ms);
  EXPECT_FALSE(player.abandoned());
  player.cancel();
  const Status status = end();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ECANCELED);
  EXPECT_EQ(status.error().message, "it was cancelled");
  EXPECT_TRUE(player.abandoned());
  EXPECT_EQ(told, 1);
  EXPECT_EQ(report.answered, 1u);
}

TEST_F(PlayerTest, AReplayEndsWhenTheServerCloses) {
  begin("3600000000 nop\n");
  while (player.wait_launch(positions.data(), 1ms) != LaunchWait::in_progress) continue;
  __atomic_store_n(plain->closed, 1u, __ATOMIC_RELEASE);
  player.cancel();  // The thread in play() sleeps without a time limit.
  const Status status = end();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ESHUTDOWN);
  EXPECT_EQ(status.error().message,
            "the server ended before the trace did; 0 requests were refused");
}

TEST_F(PlayerTest, WithoutAReplayNothingIsDue) {
  EXPECT_FALSE(player.advance());
  EXPECT_EQ(player.wait_launch(positions.data(), 1ms), LaunchWait::none);
  player.wake_server();
  const Instant begin = now();
  player.wait_doorbell(positions.data(), 60s);
  EXPECT_LT(now() - begin, 30s) << "a wake before the wait ends it";
}

}  // namespace
}  // namespace k2k::backend::trace
