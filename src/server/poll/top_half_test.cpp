// Goal: doorbells become bundles, held together by window and maximum; lost doorbells are recovered
// by the top half of their ring and by no other.
// Method: an area in plain memory; the test acts as the device.

#include "server/poll/top_half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "protocol/area_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

// The top halves of one area, as the server assigns them.
struct Halves {
  Halves(const protocol::AreaView& area, const ServerConfig& config) {
    for (std::uint32_t ring = 0; ring < area.ring_count; ++ring) {
      consumers.push_back(std::make_unique<protocol::RingConsumer>(area.rings[ring]));
    }
    for (std::uint32_t index = 0; index < config.top_halves; ++index) {
      std::vector<protocol::RingConsumer*> rings;
      for (std::uint32_t ring = index; ring < area.ring_count; ring += config.top_halves) {
        rings.push_back(consumers[ring].get());
      }
      halves.emplace_back(area);
      halves.back().assign(std::move(rings), index, config.top_halves);
      halves.back().configure(config);
    }
  }
  std::vector<std::unique_ptr<protocol::RingConsumer>> consumers;
  std::vector<TopHalf> halves;
};

class TopHalfTest : public testing::Test {
 protected:
  std::unique_ptr<ThreadStats> stats = std::make_unique<ThreadStats>();
  Bundle bundle;
  ServerConfig config;

  void publish_and_ring(protocol::PlainArea& area, std::uint32_t wave, std::uint32_t lane,
                        std::uint8_t flags = 0) {
    area.publish(wave, lane, 39, flags);
    area.ring(wave, std::uint64_t{1} << lane);
  }
};

TEST_F(TopHalfTest, takes_what_is_there_and_waits_for_nothing_without_a_window) {
  protocol::PlainArea area;
  Halves server(area.view(), config);
  EXPECT_FALSE(server.halves[0].collect(bundle, *stats));
  EXPECT_TRUE(bundle.empty());
  publish_and_ring(area, 0, 1);
  publish_and_ring(area, 3, 31);
  EXPECT_TRUE(server.halves[0].collect(bundle, *stats));
  ASSERT_EQ(bundle.size(), 2u);
  EXPECT_EQ(bundle[0].wave, 0u);
  EXPECT_EQ(bundle[1].lanes, std::uint64_t{1} << 31);
  EXPECT_EQ(stats->doorbells.value(), 2u);
  EXPECT_EQ(stats->bundles.value(), 1u);
}

TEST_F(TopHalfTest, gives_the_places_it_took_back_to_the_producers) {
  protocol::PlainArea area({.waves = 8, .ring_entries = 2});
  Halves server(area.view(), config);
  publish_and_ring(area, 0, 0);
  publish_and_ring(area, 1, 0);
  const std::uint64_t ticket = protocol::take_ticket(area->rings[0]);
  EXPECT_FALSE(protocol::may_ring(area->rings[0], ticket));
  ASSERT_TRUE(server.halves[0].collect(bundle, *stats));
  EXPECT_TRUE(protocol::may_ring(area->rings[0], ticket));
}

TEST_F(TopHalfTest, ends_a_bundle_at_its_maximum_and_leaves_the_rest_for_the_next) {
  protocol::PlainArea area;
  config.coalesce_max = 3;
  config.coalesce_window_us = 10'000;
  Halves server(area.view(), config);
  for (std::uint32_t lane = 0; lane < 5; ++lane) publish_and_ring(area, 0, lane);
  ASSERT_TRUE(server.halves[0].collect(bundle, *stats));
  EXPECT_EQ(bundle.size(), 3u);
  publish_and_ring(area, 1, 0);
  bundle.clear();
  ASSERT_TRUE(server.halves[0].collect(bundle, *stats));
  EXPECT_EQ(bundle.size(), 3u);
}

TEST_F(TopHalfTest, counts_requests_not_doorbells_towards_the_maximum) {
  protocol::PlainArea area;
  config.coalesce_max = 32;
  config.coalesce_window_us = 10'000;
  Halves server(area.view(), config);
  for (std::uint32_t lane = 0; lane < 32; ++lane) area.publish(2, lane, 39);
  area.ring(2, 0xffffffff);
  const Instant start = now();
  ASSERT_TRUE(server.halves[0].collect(bundle, *stats));
  EXPECT_LT(now() - start, 9ms) << "a full bundle was held back";
  EXPECT_EQ(bundle.size(), 1u);
}

TEST_F(TopHalfTest, holds_a_bundle_open_for_the_window_and_takes_what_comes_meanwhile) {
  protocol::PlainArea area;
  config.coalesce_window_us = 10'000;
  Halves server(area.view(), config);
  publish_and_ring(area, 0, 0);
  const std::uint64_t begin = cycles();
  std::thread device([&] {
    while (protocol::load_acquire(area->rings[0].consumed) == 0) std::this_thread::yield();
    publish_and_ring(area, 1, 0);  // The first was taken: the window is open.
  });
  ASSERT_TRUE(server.halves[0].collect(bundle, *stats));
  const double held_us = static_cast<double>(cycles() - begin) * nanoseconds_per_cycle() / 1000;
  device.join();
  EXPECT_GE(held_us, 9'900);
  EXPECT_LE(bundle.size(), 2u);
  // On a busy machine the device may have been too late for the window; no doorbell is lost then.
  if (bundle.size() == 1) {
    ASSERT_TRUE(server.halves[0].collect(bundle, *stats));
  }
  EXPECT_EQ(bundle.size(), 2u);
}

TEST_F(TopHalfTest, does_not_hold_back_what_is_urgent) {
  protocol::PlainArea area;
  config.coalesce_window_us = 10'000;
  Halves server(area.view(), config);
  publish_and_ring(area, 0, 0);
  publish_and_ring(area, 0, 1, protocol::flag::urgent);
  const Nanoseconds before = thread_time();
  ASSERT_TRUE(server.halves[0].collect(bundle, *stats));
  EXPECT_LT(thread_time() - before, 9ms);
  EXPECT_EQ(bundle.size(), 2u);
}

TEST_F(TopHalfTest, drops_a_doorbell_that_names_a_row_beyond_the_area) {
  protocol::PlainArea area;
  Halves server(area.view(), config);
  area.ring(0, 1);  // A valid doorbell, then two invalid ones.
  const protocol::DoorbellRing& ring = area->rings[0];
  protocol::ring(ring, protocol::take_ticket(ring), 4, 1);
  protocol::ring(ring, protocol::take_ticket(ring), 0xffffffff, ~std::uint64_t{0});
  ASSERT_TRUE(server.halves[0].collect(bundle, *stats));
  ASSERT_EQ(bundle.size(), 1u);
  EXPECT_EQ(bundle[0].wave, 0u);
  EXPECT_EQ(stats->doorbells.value(), 3u);
}

// Found by a fuzzer: a work-item got the answer of a request that it had not made yet.
TEST_F(TopHalfTest, drops_a_doorbell_for_a_row_that_rings_at_another_half) {
  protocol::PlainArea area({.waves = 4, .rings = 2});
  config.top_halves = 2;
  Halves server(area.view(), config);
  area.publish(3, 1, 39);
  for (const std::uint32_t ring : {0u, 1u}) {
    protocol::ring(area->rings[ring], protocol::take_ticket(area->rings[ring]), 3, 2);
  }
  EXPECT_FALSE(server.halves[0].collect(bundle, *stats)) << "row 3 rings at ring 1";
  EXPECT_TRUE(server.halves[1].collect(bundle, *stats));
  ASSERT_EQ(bundle.size(), 1u);
  EXPECT_EQ(bundle[0].wave, 3u);
}

// A device that forges doorbells as fast as they are read must not keep the thread.
TEST_F(TopHalfTest, reads_a_bounded_number_of_forged_doorbells_at_a_time) {
  protocol::PlainArea area({.ring_entries = 1024});
  Halves server(area.view(), config);
  const protocol::DoorbellRing& ring = area->rings[0];
  for (int time = 0; time < 1000; ++time) {
    protocol::ring(ring, protocol::take_ticket(ring), 0xffffffff, 1);
  }
  static_cast<void>(server.halves[0].collect(bundle, *stats));
  EXPECT_TRUE(bundle.empty());
  EXPECT_EQ(stats->doorbells.value(), config.coalesce_max);
}

// The masks of doorbells ahead are only looked at for a prefetch (the sanitizers judge it).
TEST_F(TopHalfTest, looks_ahead_past_doorbells_that_ring_for_no_lane) {
  protocol::PlainArea area({.lanes = 8});
  Halves server(area.view(), config);
  area.ring(0, 0);
  area.ring(1, ~std::uint64_t{0xff});
  publish_and_ring(area, 2, 3);
  server.halves[0].prefetch_slots();
  ASSERT_TRUE(server.halves[0].collect(bundle, *stats));
  EXPECT_EQ(bundle.size(), 3u);
}

TEST_F(TopHalfTest, finds_a_request_whose_doorbell_was_lost_within_a_bounded_number_of_rescans) {
  protocol::PlainArea area({.waves = 3 * TopHalf::slice_slots / 32 + 1, .lanes = 32});
  Halves server(area.view(), config);
  area.publish(3 * TopHalf::slice_slots / 32, 31, 39);
  int rescans = 1;
  while (server.halves[0].rescan(bundle, *stats, cycles()) == 0) ASSERT_LT(++rescans, 6);
  ASSERT_EQ(bundle.size(), 1u);
  EXPECT_EQ(bundle[0].wave, 3 * TopHalf::slice_slots / 32);
  EXPECT_EQ(bundle[0].lanes, std::uint64_t{1} << 31);
  EXPECT_EQ(stats->rescued.value(), 1u);
}

// As many slots as an H200 has.
TEST_F(TopHalfTest, sees_all_slots_of_a_large_area_within_a_bounded_number_of_rescans) {
  constexpr std::uint32_t waves = 8'448;
  protocol::PlainArea area({.waves = waves, .lanes = 32});
  Halves server(area.view(), config);
  area.publish(waves - 1, 5, 39);
  std::uint32_t rescans = 1;
  while (server.halves[0].rescan(bundle, *stats, cycles()) == 0) {
    ASSERT_LE(++rescans, TopHalf::slices_max);
  }
  EXPECT_EQ(bundle[0].wave, waves - 1);
}

TEST_F(TopHalfTest, heals_a_ring_that_is_full_of_holes) {
  protocol::PlainArea area({.ring_entries = 4});
  Halves server(area.view(), config);
  const protocol::DoorbellRing& ring = area->rings[0];
  for (int dead = 0; dead < 4; ++dead) static_cast<void>(protocol::take_ticket(ring));
  std::uint64_t ticket = protocol::take_ticket(ring);
  ASSERT_FALSE(protocol::may_ring(ring, ticket)) << "it waits behind the dead";
  int rescans = 0;
  while (!protocol::may_ring(ring, ticket)) {
    if (protocol::passed_over(ring, ticket)) {
      ticket = protocol::take_ticket(ring);
      continue;
    }
    ASSERT_LE(++rescans, static_cast<int>(TopHalf::silent_rescues_max));
    area.publish(1, static_cast<std::uint32_t>(rescans), 39);
    EXPECT_GE(server.halves[0].rescan(bundle, *stats, cycles()), 1u);
  }
  protocol::ring(ring, ticket, 2, 1);
  bundle.clear();
  EXPECT_TRUE(server.halves[0].collect(bundle, *stats));
  ASSERT_EQ(bundle.size(), 1u);
  EXPECT_EQ(bundle[0].wave, 2u);
}

TEST_F(TopHalfTest, rescans_less_often_the_longer_nothing_came) {
  protocol::PlainArea area;
  config.rescan_us = 1'000;
  Halves server(area.view(), config);
  TopHalf& half = server.halves[0];
  const auto wait_after = [&](std::uint32_t idle_us) {
    const std::uint64_t moment = cycles();
    half.rescan(bundle, *stats, moment, cycles_of(idle_us));
    return half.rescan_due() - moment;
  };
  EXPECT_LE(wait_after(0), cycles_of(1'000));
  EXPECT_LE(wait_after(16'000), cycles_of(1'000) + 1);
  EXPECT_GT(wait_after(100'000), cycles_of(5'000));
  EXPECT_LE(wait_after(100'000), cycles_of(6'251));
  EXPECT_LE(wait_after(10'000'000), cycles_of(16'001));
}

TEST_F(TopHalfTest, gets_past_the_hole_of_a_producer_that_died) {
  protocol::PlainArea area;
  Halves server(area.view(), config);
  static_cast<void>(protocol::take_ticket(area->rings[0]));
  publish_and_ring(area, 1, 0);
  TopHalf& half = server.halves[0];
  const std::uint64_t begin = cycles();
  EXPECT_FALSE(half.collect(bundle, *stats));
  EXPECT_EQ(half.rescan(bundle, *stats, begin), 1u);
  EXPECT_FALSE(half.collect(bundle, *stats)) << "its producer may be about to ring";
  EXPECT_EQ(half.rescan(bundle, *stats, begin + cycles_of(TopHalf::hole_us)), 1u);
  EXPECT_TRUE(half.collect(bundle, *stats)) << "the hole was skipped";
}

// Between a ticket and its doorbell a GPU takes microseconds. If the place counted as a hole, the
// doorbell would come too late, and only another rescan would find the request.
TEST_F(TopHalfTest, takes_no_producer_for_dead_that_rings_soon_after_a_rescan) {
  protocol::PlainArea area;
  Halves server(area.view(), config);
  TopHalf& half = server.halves[0];
  const protocol::DoorbellRing& ring = area->rings[0];
  std::uint64_t moment = cycles();
  for (std::uint32_t turn = 0; turn < 20; ++turn) {
    const std::uint64_t slow = protocol::take_ticket(ring);
    const std::uint64_t quick = protocol::take_ticket(ring);
    area.publish(1, turn, 39);
    protocol::ring(ring, quick, 1, 1);
    bundle.clear();
    EXPECT_GE(half.rescan(bundle, *stats, moment), 1u);
    protocol::ring(ring, slow, 2, 1);
    bundle.clear();
    EXPECT_TRUE(half.collect(bundle, *stats));
    ASSERT_EQ(bundle.size(), 2u) << "turn " << turn;
    EXPECT_EQ(bundle[0].wave, 2u);
    moment += cycles_of(TopHalf::hole_us);
  }
}

TEST_F(TopHalfTest, passes_a_hole_before_a_sleep_once_it_has_lasted_and_a_doorbell_is_behind_it) {
  protocol::PlainArea area;
  Halves server(area.view(), config);
  TopHalf& half = server.halves[0];
  const std::uint64_t begin = cycles();
  const std::uint64_t later = begin + cycles_of(TopHalf::hole_us);
  EXPECT_FALSE(half.pass_holes(begin, true)) << "there is none";
  static_cast<void>(protocol::take_ticket(area->rings[0]));
  EXPECT_FALSE(half.pass_holes(later, true)) << "nothing is behind it";
  publish_and_ring(area, 1, 0);
  EXPECT_FALSE(half.pass_holes(later, false)) << "no doorbell was heard";
  EXPECT_FALSE(half.pass_holes(later - 1, true)) << "its producer may have lost its core";
  EXPECT_TRUE(half.pass_holes(later, true));
  EXPECT_TRUE(half.collect(bundle, *stats));
  EXPECT_EQ(stats->rescued.value(), 0u);
}

// A launch after a long rest: the first requests are found by a rescan that is due for long.
TEST_F(TopHalfTest, takes_no_producer_for_dead_that_is_slow_after_a_rest) {
  protocol::PlainArea area;
  Halves server(area.view(), config);
  TopHalf& half = server.halves[0];
  const protocol::DoorbellRing& ring = area->rings[0];
  const std::uint64_t moment = cycles();
  EXPECT_FALSE(half.pass_holes(moment, true));
  EXPECT_EQ(half.rescan(bundle, *stats, moment), 0u);
  const std::uint64_t later = moment + cycles_of(100 * TopHalf::hole_us);
  const std::uint64_t slow = protocol::take_ticket(ring);
  publish_and_ring(area, 1, 0);
  EXPECT_EQ(half.rescan(bundle, *stats, later), 1u);
  protocol::ring(ring, slow, 2, 1);
  bundle.clear();
  EXPECT_TRUE(half.collect(bundle, *stats));
  EXPECT_EQ(bundle.size(), 2u);
}

// A row that two halves could both find would be executed twice.
TEST_F(TopHalfTest, rescans_exactly_the_rows_whose_doorbells_it_takes) {
  for (std::uint32_t rings = 1; rings <= protocol::ring_count_max; ++rings) {
    for (std::uint32_t halves = 1; halves <= rings; ++halves) {
      SCOPED_TRACE(testing::Message() << rings << " rings, " << halves << " top halves");
      protocol::PlainArea area({.waves = 77, .lanes = 32, .rings = rings, .ring_entries = 128});
      config.top_halves = halves;
      Halves server(area.view(), config);
      for (std::uint32_t wave = 0; wave < 77; ++wave) {
        area.publish(wave, 0, 39);
        area.ring(wave, 1);
      }
      std::set<std::uint32_t> all;
      for (TopHalf& half : server.halves) {
        std::set<std::uint32_t> rung;
        std::set<std::uint32_t> scanned;
        Bundle part;
        while (half.collect(part, *stats)) {
        }
        for (const protocol::Doorbell& doorbell : part) rung.insert(doorbell.wave);
        part.clear();
        for (int slice = 0; slice < 40; ++slice)
          static_cast<void>(half.rescan(part, *stats, cycles()));
        for (const protocol::Doorbell& doorbell : part) scanned.insert(doorbell.wave);
        EXPECT_EQ(rung, scanned);
        all.insert(scanned.begin(), scanned.end());
      }
      EXPECT_EQ(all.size(), 77u);
    }
  }
}

}  // namespace
}  // namespace k2k::server
