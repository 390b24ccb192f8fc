// Goal: a replay that is computed lazily equals the continuous replay: in order, bounded, stalled
// for the right time, each answer taken once, at any times and any rate of calls.
// Method: plain memory, a tick is a nanosecond, and the test is the host.

#include "backend/trace/accelerator.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "backend/trace/format.hpp"
#include "protocol/area_fixture.hpp"

namespace k2k::backend::trace {
namespace {

using protocol::Side;
using protocol::SlotState;
using protocol::TransportError;

constexpr Tick us = 1'000;

class AcceleratorTest : public testing::Test {
 protected:
  explicit AcceleratorTest(const protocol::AreaShape& shape = {}) : plain(shape) {
    for (std::uint32_t ring = 0; ring < shape.rings; ++ring) {
      consumers.emplace_back(plain->rings[ring]);
    }
  }

  void begin(const std::string& lines, std::uint32_t outstanding, Tick longest = never) {
    auto parsed = parse_trace(std::string(first_line) + "\n" + lines);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    events = std::move(parsed).value();
    source.emplace(events);
    requests.emplace();
    const Status ready = requests->prepare(*source, outstanding);
    ASSERT_TRUE(ready.ok()) << ready.error().message;
    accelerator.begin(*source, *requests, outstanding, longest, start);
  }

  // The doorbells since the last call, in order.
  std::vector<protocol::Place> rung() {
    std::vector<protocol::Place> places;
    for (protocol::RingConsumer& consumer : consumers) {
      protocol::Doorbell doorbell{};
      while (consumer.poll(doorbell)) {
        for (std::uint64_t left = doorbell.lanes; left != 0; left &= left - 1) {
          places.push_back({doorbell.wave, lowest_bit(left)});
        }
      }
      consumer.publish();
    }
    return places;
  }
  std::size_t requested_at(Tick now) {
    accelerator.publish(start + now);
    const auto places = rung();
    with_host.insert(with_host.end(), places.begin(), places.end());
    return places.size();
  }

  protocol::Slot& slot_of(protocol::Place place) { return plain->slot(place.wave, place.lane); }
  void finish(protocol::Place place, std::int64_t value,
              TransportError error = TransportError::none) {
    protocol::Slot& slot = slot_of(place);
    ASSERT_EQ(observe(slot).state, SlotState::ready);
    const std::uint16_t number = observe(slot).number;
    protocol::move<SlotState::ready, SlotState::processing, Side::host>(slot, number);
    slot.arguments[0] = static_cast<std::uint64_t>(value);
    protocol::move<SlotState::processing, SlotState::finished, Side::host>(slot, number, error);
  }
  void resume(protocol::Place place, Tick now) {
    accelerator.answered(&place.wave, 1, start + now);
  }
  // Answers the oldest of with_host.
  void answer(Tick now, std::int64_t value = 0, TransportError error = TransportError::none) {
    ASSERT_FALSE(with_host.empty());
    const protocol::Place place = with_host.front();
    with_host.erase(with_host.begin());
    finish(place, value, error);
    resume(place, now);
  }
  const Counts& counts() { return accelerator.counts(); }
  Tick due() { return accelerator.next_due() == never ? never : accelerator.next_due() - start; }

  static constexpr Tick start = 1'000'000'000;
  protocol::PlainArea plain;
  std::vector<protocol::RingConsumer> consumers;
  std::vector<Event> events;
  std::optional<ListedEvents> source;
  std::optional<Requests> requests;
  Accelerator accelerator{plain.view(), 1};
  std::vector<protocol::Place> with_host;
};

TEST_F(AcceleratorTest, publishes_due_requests_only) {
  begin("0 nop\n10 nop\n10 nop\n25 nop\n", 8);
  EXPECT_EQ(due(), 0u);
  EXPECT_EQ(requested_at(0), 1u);
  EXPECT_EQ(due(), 10 * us);
  EXPECT_EQ(requested_at(10 * us - 1), 0u);
  EXPECT_EQ(requested_at(10 * us), 2u);
  EXPECT_EQ(requested_at(1'000 * us), 1u) << "late, but not lost";
  EXPECT_EQ(due(), never);
  EXPECT_FALSE(accelerator.ended());
  for (int left = 4; left != 0; --left) answer(1'001 * us);
  EXPECT_TRUE(accelerator.ended());
  EXPECT_EQ(counts().requests, 4u);
  EXPECT_EQ(counts().answered, 4u);
  EXPECT_EQ(counts().errors, 0u);
  EXPECT_EQ(counts().stalled, 0u);
}

TEST_F(AcceleratorTest, of_an_empty_trace_has_ended) {
  begin("", 8);
  EXPECT_TRUE(accelerator.ended());
  EXPECT_EQ(requested_at(5), 0u);
}

TEST_F(AcceleratorTest, thinks_after_each_answer) {
  begin("+5 nop\n+5 nop\n+7 nop\n", 1);
  EXPECT_EQ(requested_at(5 * us), 1u);
  EXPECT_EQ(due(), never) << "the next event waits for the answer";
  answer(30 * us);
  EXPECT_EQ(due(), 35 * us);
  EXPECT_EQ(requested_at(40 * us), 1u);
  answer(41 * us);
  EXPECT_EQ(due(), 48 * us);
  EXPECT_EQ(requested_at(48 * us), 1u);
  answer(50 * us);
  EXPECT_TRUE(accelerator.ended());
  EXPECT_EQ(counts().delays.count(), 3u);
}

TEST_F(AcceleratorTest, never_exceeds_its_limit_of_outstanding_requests) {
  std::string lines;
  for (int line = 0; line < 100; ++line) lines += "0 nop\n";
  begin(lines, 3);
  EXPECT_EQ(requested_at(0), 3u);
  Tick now = 0;
  for (std::size_t done = 0; done < 100; ++done) {
    EXPECT_LE(accelerator.with_host(), 3u);
    EXPECT_EQ(requested_at(++now), 0u);
    answer(++now);
    EXPECT_EQ(requested_at(now), done < 97 ? 1u : 0u);
  }
  EXPECT_TRUE(accelerator.ended());
  EXPECT_EQ(counts().answered, 100u);
}

TEST_F(AcceleratorTest, counts_how_long_an_open_loop_is_stalled) {
  begin("0 nop\n0 nop\n10 nop\n500 nop\n", 2);
  EXPECT_EQ(requested_at(0), 2u);
  answer(40 * us);  // The third request was due at 10.
  EXPECT_EQ(counts().stalled, 30 * us);
  EXPECT_EQ(requested_at(40 * us), 1u);
  answer(60 * us);  // Nothing was due before 500.
  EXPECT_EQ(counts().stalled, 30 * us);
  answer(70 * us);
  EXPECT_EQ(requested_at(600 * us), 1u);
  answer(700 * us);
  EXPECT_TRUE(accelerator.ended());
  EXPECT_EQ(counts().stalled, 30 * us);
  // 40, 60, 60 and 200 us; the third counts from its due time, not from its publication.
  EXPECT_NEAR(counts().delays.quantile(0), 40e3, 5e3);
  EXPECT_NEAR(counts().delays.quantile(0.5), 60e3, 7e3);
  EXPECT_NEAR(counts().delays.quantile(1), 200e3, 25e3);
}

TEST_F(AcceleratorTest, counts_how_long_a_closed_loop_is_stalled) {
  begin("0 nop\n5 nop\n+1 nop\n+1 nop\n", 2);
  EXPECT_EQ(requested_at(20 * us), 2u)
      << "a late look: the second was due at 5, the device full since then";
  answer(25 * us);
  EXPECT_EQ(counts().stalled, 20 * us);
  EXPECT_EQ(requested_at(26 * us), 1u);
  answer(36 * us);
  EXPECT_EQ(counts().stalled, 30 * us);
  EXPECT_EQ(requested_at(40 * us), 1u);  // Due at 37.
  answer(50 * us);
  EXPECT_EQ(counts().stalled, 30 * us) << "no event is left to be stalled";
  answer(50 * us);
  EXPECT_TRUE(accelerator.ended());
}

// No call came in between: the third request was due before the second answer, so the device was
// stalled when that answer came.
TEST_F(AcceleratorTest, publishes_due_requests_before_it_takes_an_answer) {
  begin("0 nop\n0 nop\n+1 nop\n+1 nop\n", 2);
  EXPECT_EQ(requested_at(0), 2u);
  answer(10 * us);
  EXPECT_EQ(counts().stalled, 10 * us);
  answer(30 * us);
  EXPECT_EQ(accelerator.with_host(), 1u) << "due at 11";
  EXPECT_EQ(counts().stalled, 29 * us);
  EXPECT_EQ(requested_at(31 * us), 2u);
}

TEST_F(AcceleratorTest, leaves_out_requests_due_after_its_end) {
  begin("0 nop\n10 nop\n11 nop\n+1 nop\n", 4, 10 * us);
  EXPECT_EQ(requested_at(100 * us), 2u);
  answer(100 * us);
  answer(100 * us);
  EXPECT_TRUE(accelerator.ended());
}

TEST_F(AcceleratorTest, takes_no_answer_before_its_state_is_finished) {
  begin("0 nop\n", 1);
  ASSERT_EQ(requested_at(0), 1u);
  resume(with_host.front(), 1);
  protocol::Slot& slot = slot_of(with_host.front());
  EXPECT_EQ(counts().answered, 0u);
  protocol::move<SlotState::ready, SlotState::processing, Side::host>(slot, 1);
  resume(with_host.front(), 2);
  EXPECT_EQ(counts().answered, 0u);
  slot.arguments[0] = 0;
  protocol::move<SlotState::processing, SlotState::finished, Side::host>(slot, 1);
  resume(with_host.front(), 3);
  resume(with_host.front(), 4);
  EXPECT_EQ(counts().answered, 1u) << "answered once only";
  EXPECT_EQ(observe(slot).state, SlotState::free);
  EXPECT_EQ(plain->locks[with_host.front().wave], 0u);
  const std::uint32_t beyond = 1'000'000;
  accelerator.answered(&beyond, 1, start);
}

TEST_F(AcceleratorTest, tells_right_answers_from_wrong_ones) {
  begin("0 pread 100\n0 pread 100\n0 getpid\n0 pwrite 7\n0 pread 9\n", 8);
  ASSERT_EQ(requested_at(0), 5u);
  answer(1, 100);
  answer(2, -14);
  answer(3, ::getpid());
  answer(4, 7);
  answer(5, 8);
  EXPECT_TRUE(accelerator.ended());
  EXPECT_EQ(counts().answered, 5u);
  EXPECT_EQ(counts().errors, 2u);
  EXPECT_EQ(counts().first_error_operation, Operation::pread);
  EXPECT_EQ(counts().first_error, -14);
}

TEST_F(AcceleratorTest, publishes_no_request_once_it_is_stopped) {
  begin("0 nop\n0 nop\n5 nop\n+1 nop\n", 3);
  EXPECT_EQ(requested_at(0), 2u);
  accelerator.stop();
  EXPECT_EQ(requested_at(100 * us), 0u);
  EXPECT_FALSE(accelerator.ended());
  answer(100 * us);
  answer(100 * us);
  EXPECT_EQ(requested_at(200 * us), 0u);
  EXPECT_TRUE(accelerator.ended());
  begin("0 nop\n", 1);
  EXPECT_EQ(requested_at(0), 1u) << "until it begins anew";
}

TEST_F(AcceleratorTest, stops_when_the_server_refuses_or_has_closed) {
  begin("0 nop\n0 nop\n+1 nop\n", 3);
  EXPECT_EQ(requested_at(0), 2u);
  answer(1, -125, TransportError::shutdown);
  EXPECT_EQ(counts().refused, 1u);
  EXPECT_EQ(requested_at(100 * us), 0u);
  accelerator.give_up();
  EXPECT_TRUE(accelerator.ended());
  EXPECT_EQ(counts().refused, 2u);
  EXPECT_EQ(counts().answered, 0u);

  protocol::store_release(plain->closed, 1u);
  begin("0 nop\n", 1);
  EXPECT_EQ(requested_at(0), 0u);
  EXPECT_TRUE(accelerator.ended());
}

class CrowdedAccelerator : public AcceleratorTest {
 protected:
  CrowdedAccelerator()
      : AcceleratorTest({.waves = 2, .lanes = 32, .rings = 2, .ring_entries = 4, .blocks = 1}) {}
};

TEST_F(CrowdedAccelerator, waits_for_a_place_in_the_ring_without_losing_a_request) {
  std::string lines;
  for (int line = 0; line < 200; ++line) lines += "+0 nop\n";
  begin(lines, 64);
  accelerator.publish(start);
  EXPECT_GT(counts().ring_full, 0u);
  EXPECT_LE(accelerator.with_host(), 8u);
  EXPECT_GT(due(), 0u) << "it tries again later, not at once";
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> times;
  Tick now = 0;
  for (int round = 0; round < 1'000 && !accelerator.ended(); ++round) {
    now += 20 * us;
    requested_at(now);
    for (; !with_host.empty(); now += us) {
      ++times[{with_host.front().wave, with_host.front().lane}];
      answer(now);
    }
  }
  EXPECT_TRUE(accelerator.ended());
  EXPECT_EQ(counts().answered, 200u);
  EXPECT_EQ(counts().requests, 200u);
  EXPECT_EQ(times.size(), 64u) << "each work-item has its own slot";
}

// The host gave up waiting for doorbells and passed a lap (RingConsumer::pass_lap).
TEST_F(CrowdedAccelerator, catches_up_with_a_host_that_passed_a_lap) {
  std::string lines;
  for (int line = 0; line < 20; ++line) lines += "+1 nop\n";
  begin(lines, 1);
  consumers[0].pass_lap();
  consumers[0].publish();
  const protocol::Place place{0, 0};
  std::size_t doorbells = 0;
  for (Tick now = 1; !accelerator.ended() && now < 1'000; ++now) {
    accelerator.publish(start + now * 20 * us);
    doorbells += rung().size();
    finish(place, 0);  // A rescan finds producers that ring in places that were skipped.
    resume(place, now * 20 * us);
  }
  EXPECT_TRUE(accelerator.ended());
  EXPECT_EQ(counts().answered, 20u);
  EXPECT_GE(doorbells, 15u) << "at most a lap of doorbells is lost";
}

// The same trace looked at every microsecond or every hundred gives the same requests.
TEST_F(AcceleratorTest, is_the_same_replay_at_any_rate_of_looks) {
  std::string lines;
  for (int line = 0; line < 300; ++line) {
    lines += line % 3 == 0 ? "+4 pread " + std::to_string(line) + "\n"
                           : std::to_string(line) + " pread " + std::to_string(line) + "\n";
  }
  for (const Tick step : {1 * us, 7 * us, 100 * us}) {
    begin(lines, 5);
    std::vector<std::uint64_t> sizes;
    for (Tick now = 0; now < 100'000 * us && !accelerator.ended(); now += step) {
      requested_at(now);
      while (!with_host.empty()) {
        const std::uint64_t size = slot_of(with_host.front()).arguments[2];
        sizes.push_back(size);
        answer(now, static_cast<std::int64_t>(size));
        requested_at(now);
      }
    }
    ASSERT_TRUE(accelerator.ended());
    EXPECT_EQ(counts().errors, 0u);
    std::sort(sizes.begin(), sizes.end());
    ASSERT_EQ(sizes.size(), 300u);
    for (std::size_t index = 0; index < sizes.size(); ++index) ASSERT_EQ(sizes[index], index);
  }
}

}  // namespace
}  // namespace k2k::backend::trace
