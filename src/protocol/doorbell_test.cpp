// Goal: every doorbell arrives once, in ticket order, in any lap; a full ring holds producers back;
// a dead producer does not block the others for ever.

#include "protocol/doorbell.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "protocol/area_fixture.hpp"

namespace k2k::protocol {
namespace {

#if defined(K2K_TSAN)
constexpr std::uint64_t rings_a_producer = 2'000;
#else
constexpr std::uint64_t rings_a_producer = 50'000;
#endif

class DoorbellTest : public testing::Test {
 protected:
  static constexpr std::uint32_t entries = 8;
  PlainArea area{{.ring_entries = entries}};
  DoorbellRing ring = area->rings[0];
  RingConsumer consumer{ring};
  Doorbell seen{};
};

TEST_F(DoorbellTest, finds_nothing_in_zeroed_memory) {
  EXPECT_FALSE(consumer.poll(seen));
  EXPECT_FALSE(consumer.skip_hole());
}

TEST_F(DoorbellTest, gives_wave_and_lanes_in_order_over_many_laps) {
  for (std::uint64_t count = 0; count < 20 * entries + 3; ++count) {
    const std::uint64_t ticket = take_ticket(ring);
    ASSERT_EQ(ticket, count);
    ASSERT_TRUE(may_ring(ring, ticket));
    protocol::ring(ring, ticket, static_cast<std::uint32_t>(count * 7), ~count);
    ASSERT_TRUE(consumer.poll(seen));
    EXPECT_EQ(seen.wave, static_cast<std::uint32_t>(count * 7));
    EXPECT_EQ(seen.lanes, ~count);
    EXPECT_FALSE(consumer.poll(seen));  // The last lap's entry behind it is stale, not ready.
    consumer.publish();
  }
}

// For a host that cannot read the tail: the entries alone show whether a doorbell was rung.
TEST_F(DoorbellTest, shows_by_its_entries_whether_a_position_was_rung) {
  for (std::uint64_t position = 0; position < 3 * entries; ++position) {
    EXPECT_FALSE(is_rung(ring, position)) << "the entry belongs to the last lap";
    const std::uint64_t ticket = take_ticket(ring);
    EXPECT_FALSE(is_rung(ring, position)) << "taken, not rung";
    protocol::ring(ring, ticket, 1, 1);
    EXPECT_TRUE(is_rung(ring, position));
    EXPECT_FALSE(is_rung(ring, position + entries)) << "a lap ahead (pass_lap())";
    ASSERT_TRUE(consumer.poll(seen));
    consumer.publish();
  }
}

TEST_F(DoorbellTest, keeps_a_wave_and_a_lap_of_all_ones_apart) {
  protocol::ring(ring, take_ticket(ring), 0xffffffffu, ~std::uint64_t{0});
  ASSERT_TRUE(consumer.poll(seen));
  EXPECT_EQ(seen.wave, 0xffffffffu);
  EXPECT_FALSE(consumer.poll(seen));
}

TEST_F(DoorbellTest, holds_a_producer_back_until_the_consumer_published_room) {
  for (std::uint32_t count = 0; count < entries; ++count) {
    const std::uint64_t ticket = take_ticket(ring);
    ASSERT_TRUE(may_ring(ring, ticket));
    protocol::ring(ring, ticket, count, 1);
  }
  const std::uint64_t late = take_ticket(ring);
  EXPECT_FALSE(may_ring(ring, late));
  ASSERT_TRUE(consumer.poll(seen));
  EXPECT_FALSE(may_ring(ring, late)) << "polled, but not published: the entry may still be read";
  consumer.publish();
  EXPECT_TRUE(may_ring(ring, late));
  EXPECT_FALSE(may_ring(ring, take_ticket(ring)));
}

TEST_F(DoorbellTest, waits_for_a_producer_that_took_its_ticket_first) {
  const std::uint64_t slow = take_ticket(ring);
  protocol::ring(ring, take_ticket(ring), 2, 1);
  EXPECT_FALSE(consumer.poll(seen));
  protocol::ring(ring, slow, 1, 1);
  ASSERT_TRUE(consumer.poll(seen));
  EXPECT_EQ(seen.wave, 1u);
  ASSERT_TRUE(consumer.poll(seen));
  EXPECT_EQ(seen.wave, 2u);
}

TEST_F(DoorbellTest, skips_the_hole_of_a_producer_that_died) {
  static_cast<void>(take_ticket(ring));
  static_cast<void>(take_ticket(ring));
  EXPECT_FALSE(consumer.skip_hole()) << "nothing behind the hole: a producer may just be slow";
  protocol::ring(ring, take_ticket(ring), 9, 1);
  EXPECT_FALSE(consumer.poll(seen));
  EXPECT_TRUE(consumer.skip_hole());
  ASSERT_TRUE(consumer.poll(seen));
  EXPECT_EQ(seen.wave, 9u);
  EXPECT_FALSE(consumer.skip_hole());
}

TEST_F(DoorbellTest, never_reports_an_entry_that_came_after_its_hole_was_skipped) {
  const std::uint64_t dead = take_ticket(ring);
  protocol::ring(ring, take_ticket(ring), 9, 1);
  ASSERT_TRUE(consumer.skip_hole());
  ASSERT_TRUE(consumer.poll(seen));
  protocol::ring(ring, dead, 5, 1);  // Not dead, only late.
  EXPECT_FALSE(consumer.poll(seen));
  // The late entry is in the place of the next lap's entry: it must not be taken for that entry.
  for (std::uint32_t count = 2; count < entries; ++count) {
    protocol::ring(ring, take_ticket(ring), count, 1);
    ASSERT_TRUE(consumer.poll(seen));
  }
  EXPECT_FALSE(consumer.poll(seen));
  protocol::ring(ring, take_ticket(ring), 77, 1);
  ASSERT_TRUE(consumer.poll(seen));
  EXPECT_EQ(seen.wave, 77u);
}

TEST_F(DoorbellTest, tells_a_producer_that_waited_for_room_that_it_was_passed_over) {
  for (std::uint32_t count = 0; count < entries; ++count) {
    protocol::ring(ring, take_ticket(ring), count, 1);
  }
  const std::uint64_t slow = take_ticket(ring);
  const std::uint64_t quick = take_ticket(ring);
  EXPECT_FALSE(may_ring(ring, slow));
  EXPECT_FALSE(passed_over(ring, slow)) << "only the ring is full";
  while (consumer.poll(seen)) consumer.publish();
  ASSERT_TRUE(may_ring(ring, quick));
  protocol::ring(ring, quick, 9, 1);
  ASSERT_TRUE(consumer.skip_hole());
  ASSERT_TRUE(consumer.poll(seen));
  consumer.publish();
  for (std::uint32_t count = 0; count < entries; ++count) {
    const std::uint64_t ticket = take_ticket(ring);
    ASSERT_TRUE(may_ring(ring, ticket));
    protocol::ring(ring, ticket, count, 1);
    ASSERT_TRUE(consumer.poll(seen));
    consumer.publish();
  }
  EXPECT_FALSE(may_ring(ring, slow)) << "its place belongs to a later lap";
  EXPECT_TRUE(passed_over(ring, slow)) << "otherwise it would wait for ever";
}

TEST_F(DoorbellTest, counts_laps_beyond_32_bits_of_ticket) {
  // Tickets far into the run: the lap still differs from its neighbours'.
  const std::uint64_t far = std::uint64_t{1} << 34;
  EXPECT_NE(doorbell_head(far, entries, 0), doorbell_head(far - entries, entries, 0));
  EXPECT_EQ(doorbell_head(far, entries, 3) >> 32, far / entries + 1);
  EXPECT_EQ(doorbell_head(far, entries, 3) & 0xffffffff, 3u);
}

TEST_F(DoorbellTest, shows_the_results_of_later_polls_without_taking_them) {
  for (std::uint64_t count = 0; count < entries + 2; ++count) {  // Into the second lap.
    protocol::ring(ring, take_ticket(ring), static_cast<std::uint32_t>(count), 1);
    protocol::ring(ring, take_ticket(ring), static_cast<std::uint32_t>(count + 100), 3);
    Doorbell ahead{};
    ASSERT_TRUE(consumer.peek(1, ahead));
    EXPECT_EQ(ahead.wave, count + 100);
    EXPECT_EQ(ahead.lanes, 3u);
    EXPECT_FALSE(consumer.peek(2, ahead)) << "not rung";
    EXPECT_EQ(ahead.wave, count + 100) << "left alone";
    EXPECT_EQ(consumer.entry(1)->lanes, 3u);
    ASSERT_TRUE(consumer.poll(seen));
    EXPECT_EQ(seen.wave, count);
    ASSERT_TRUE(consumer.poll(seen));
    EXPECT_EQ(seen.wave, count + 100);
    consumer.publish();
  }
}

TEST(DoorbellRace, delivers_every_ring_of_many_producers_once_and_in_their_order) {
  constexpr std::uint32_t producers = 4;
  PlainArea area{{.ring_entries = 16}};
  const DoorbellRing ring = area->rings[0];
  std::vector<std::thread> threads;
  for (std::uint32_t producer = 0; producer < producers; ++producer) {
    threads.emplace_back([&ring, producer] {
      for (std::uint64_t count = 0; count < rings_a_producer; ++count) {
        const std::uint64_t ticket = take_ticket(ring);
        while (!may_ring(ring, ticket)) std::this_thread::yield();
        protocol::ring(ring, ticket, producer, count);
      }
    });
  }
  RingConsumer consumer(ring);
  std::uint64_t next[producers] = {};
  for (std::uint64_t taken = 0; taken < producers * rings_a_producer;) {
    Doorbell seen{};
    if (!consumer.poll(seen)) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_LT(seen.wave, producers);
    ASSERT_EQ(seen.lanes, next[seen.wave]++);
    if (++taken % 5 == 0) consumer.publish();
  }
  consumer.publish();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(consumer.position(), producers * rings_a_producer);
}

}  // namespace
}  // namespace k2k::protocol
