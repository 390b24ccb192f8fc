#include "telemetry/event_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace k2k::telemetry {
namespace {

// An event with all fields computed from one number, so that a mixture of two is recognised.
Event event_of(std::uint64_t number) {
  return {number * 0x9e3779b97f4a7c15ull,     static_cast<EventKind>(number % 7),
          static_cast<std::uint8_t>(number),  static_cast<std::uint16_t>(number >> 3),
          static_cast<std::uint32_t>(number), ~number};
}
std::unique_ptr<EventRing> ring_that_is_on() {
  auto ring = std::make_unique<EventRing>();
  ring->turn(true);
  return ring;
}
bool same(const Event& left, const Event& right) {
  return left.cycles == right.cycles && left.kind == right.kind && left.lane == right.lane &&
         left.number == right.number && left.wave == right.wave && left.argument == right.argument;
}

TEST(EventRing, gives_records_back_oldest_first) {
  const auto ring = ring_that_is_on();
  EXPECT_TRUE(ring->copy().empty());
  for (std::uint64_t number = 0; number < 5; ++number) ring->record(event_of(number));
  const std::vector<Event> events = ring->copy();
  ASSERT_EQ(events.size(), 5u);
  for (std::uint64_t number = 0; number < 5; ++number) {
    EXPECT_TRUE(same(events[number], event_of(number)));
  }
}

TEST(EventRing, keeps_the_newest_when_it_overflows) {
  const auto ring = ring_that_is_on();
  constexpr std::uint64_t count = 3 * EventRing::capacity + 17;
  for (std::uint64_t number = 0; number < count; ++number) ring->record(event_of(number));
  const std::vector<Event> events = ring->copy();
  ASSERT_EQ(events.size(), EventRing::capacity - 1);
  EXPECT_TRUE(same(events.back(), event_of(count - 1)));
  EXPECT_TRUE(same(events.front(), event_of(count - events.size())));
}

TEST(EventRing, records_nothing_and_takes_no_memory_until_it_is_turned_on) {
  EventRing ring;
  ring.record(event_of(1));
  EXPECT_TRUE(ring.copy().empty());
  ring.turn(true);
  ring.record(event_of(2));
  ring.turn(false);
  ring.record(event_of(3));
  const std::vector<Event> events = ring.copy();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(same(events[0], event_of(2)));
  EXPECT_LT(sizeof(EventRing), 64u);
}

TEST(EventRing, never_shows_a_reader_half_an_event) {
  const auto ring = ring_that_is_on();
  std::atomic<bool> stop{false};
  std::atomic<bool> overwrites{false};
  std::thread owner([&] {
    for (std::uint64_t number = 0; !stop.load(std::memory_order_relaxed); ++number) {
      ring->record(event_of(number));
      if (number == EventRing::capacity) overwrites.store(true, std::memory_order_relaxed);
      std::this_thread::yield();  // Else a slow reader's events are gone at the end of each look.
    }
  });
  while (!overwrites.load(std::memory_order_relaxed)) std::this_thread::yield();
  int mixed = 0;
  for (int looks = 0; looks < 5;) {
    std::uint64_t expected = 0;
    bool first = true;
    for (const Event& event : ring->copy()) {
      // `wave` is the number itself, below 2^32 in this test.
      if (first) expected = event.wave;
      first = false;
      mixed += same(event, event_of(expected++)) ? 0 : 1;
    }
    if (!first) ++looks;  // Only looks that found an event count.
  }
  stop.store(true);
  owner.join();
  EXPECT_EQ(mixed, 0);
}

}  // namespace
}  // namespace k2k::telemetry
