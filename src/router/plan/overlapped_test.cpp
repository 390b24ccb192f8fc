// Goal: the overlapped schedule is possible, is best in all cases for which this is claimed, and is
// never slower than the serial one.

#include <gtest/gtest.h>

#include "router/plan/planner_fixture.hpp"

namespace k2k::router {
namespace {

// The models of all schedules, also with transfers in flight together.
std::vector<Model> all_models() {
  std::vector<Model> all = models();
  for (Model model : models()) {
    model.next_us = model.call_us / 8;
    all.push_back(model);
  }
  return all;
}

TEST(Overlapped, is_the_best_of_whole_runs_where_direct_transfers_take_longer) {
  int settled = 0;
  for (const Model& model : all_models()) {
    Planner planner = Planner::create(model, 11).value();
    for (const std::uint32_t pages : {1u, 3u, 8u, 11u}) {
      every_residency(pages, [&](const Bytes& bytes) {
        if (runs_by_page(bytes).size() == 1 && runs_by_page(bytes)[0].pages() == pages) return;
        const Plan plan = planner.overlapped(bytes);
        expect_possible(plan, bytes);
        const Times<Ticks> times = times_together(planner.costs(), plan);
        Ticks least = std::numeric_limits<Ticks>::max();
        Ticks least_direct = least;
        every_plan(bytes, true, [&](const Plan& other) {
          least = std::min(least, times_together(planner.costs(), other).overlapped());
          least_direct = std::min(least_direct, times_together(planner.costs(), other).direct);
        });
        if (times.cache > times.direct || times.direct > least_direct) return;
        ++settled;
        ASSERT_LE(times.overlapped(), least);
      });
    }
  }
  EXPECT_GT(settled, 1000);
}

TEST(Overlapped, is_never_behind_the_serial_schedule) {
  std::mt19937_64 random(1);
  bool ahead = false;
  for (const Model& model : all_models()) {
    Planner planner = Planner::create(model, 2048).value();
    for (int round = 0; round < 240; ++round) {
      const Bytes bytes = random_residency(random, 1 + static_cast<std::uint32_t>(random() % 2048));
      if (runs_by_page(bytes).size() == 1 && runs_by_page(bytes)[0].pages() == bytes.size()) {
        continue;
      }
      const Ticks serial = times_of(planner.costs(), planner.exact(bytes)).serial();
      const Plan plan = planner.overlapped(bytes);
      expect_possible(plan, bytes);
      ASSERT_LE(times_together(planner.costs(), plan).overlapped(), serial);
      ahead |= times_together(planner.costs(), plan).overlapped() < serial;
    }
  }
  EXPECT_TRUE(ahead);
}

// 2,000 copied pages take 811 us, a transfer 584: it reads 127 of the pages at no cost.
// 32 KiB of every 64 are cached: one after another 57 us of a transfer are worth 45 pages, together
// 6 us are worth 5.
TEST(Overlapped, copies_short_runs_where_further_transfers_are_cheap) {
  Bytes bytes(2048);
  for (std::size_t page = 0; page < bytes.size(); ++page) bytes[page] = page / 8 % 2;
  const Model serial{57, 4096, 3.2, 4.8};
  Model together = serial;
  together.next_us = 6;
  Planner one_by_one = Planner::create(serial, 2048).value();
  EXPECT_EQ(one_by_one.overlapped(bytes).cached.size(), 1u);
  Planner planner = Planner::create(together, 2048).value();
  const Plan plan = planner.overlapped(bytes);
  EXPECT_EQ(plan.cached.size(), 128u);
  const Times<double> times = microseconds_together(together, plan);
  EXPECT_NEAR(times.direct, 57 + (4 * 1048576 - 4096) / 3200.0 + 127 * 6, 1e-6);
}

TEST(Overlapped, has_the_same_times_in_microseconds_and_in_ticks) {
  std::mt19937_64 random(1);
  for (const Model& model : all_models()) {
    Planner planner = Planner::create(model, 2048).value();
    for (int round = 0; round < 8; ++round) {
      const Bytes bytes = random_residency(random, 1 + static_cast<std::uint32_t>(random() % 2048));
      const Plan plan = planner.overlapped(bytes);
      const double us = microseconds_together(model, plan).overlapped();
      const Ticks ticks = times_together(planner.costs(), plan).overlapped();
      EXPECT_NEAR(us, static_cast<double>(ticks) / ticks_a_us, 1e-3 * us + 1e-3);
    }
  }
}

TEST(Overlapped, hands_pages_to_a_transfer_that_is_shorter_than_the_cutoff) {
  Planner planner = Planner::create({}, 2048).value();
  Bytes bytes(2048, 1);
  bytes[1000] = 0;
  const Plan plan = planner.overlapped(bytes);
  const Times<Ticks> times = times_of(planner.costs(), plan);
  EXPECT_LT(times.cache, planner.costs().cache(2047 - 127));
  EXPECT_LT(std::abs(times.cache - times.direct),
            planner.costs().cache_page + planner.costs().direct_page);
}

TEST(Overlapped, leaves_the_device_alone_where_everything_is_cached) {
  Planner planner = Planner::create({}, 2048).value();
  EXPECT_EQ(planner.overlapped(Bytes(2048, 1)).cached[0], (Range{0, 2048}));
  EXPECT_TRUE(planner.overlapped(Bytes(2048, 0)).cached.empty());
  EXPECT_EQ(planner.overlapped({}).pages, 0u);
}

}  // namespace
}  // namespace k2k::router
