#include "router/plan/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "router/plan/planner_fixture.hpp"

namespace k2k::router {
namespace {

TEST(Model, is_the_papers_equation) {
  const Model model;
  EXPECT_EQ(direct_us(model, 0), 0);
  EXPECT_EQ(direct_us(model, 1), 584);
  EXPECT_EQ(direct_us(model, 128), 584);
  EXPECT_DOUBLE_EQ(direct_us(model, 129), 584 + 4096 / 2650.0);
  EXPECT_DOUBLE_EQ(direct_us(model, 2048), 584 + 1920 * 4096 / 2650.0);
  EXPECT_EQ(cache_us(model, 0), 0);
  EXPECT_DOUBLE_EQ(cache_us(model, 2048), 2048 * 4096 / 10100.0);
}

TEST(Model, in_ticks_is_the_same) {
  for (const Model& model : models()) {
    const Costs costs = costs_of(model).value();
    for (const std::uint32_t pages : {0u, 1u, 2u, 15u, 16u, 17u, 128u, 129u, 2048u, pages_max}) {
      const double direct = static_cast<double>(costs.direct(pages)) / ticks_a_us;
      const double cache = static_cast<double>(costs.cache(pages)) / ticks_a_us;
      EXPECT_NEAR(direct, direct_us(model, pages), 1e-6 * direct);
      EXPECT_NEAR(cache, cache_us(model, pages), 1e-6 * cache);
    }
  }
}

TEST(Model, cutoff_of_whole_pages_is_exact) {
  const Costs costs = costs_of({}).value();
  EXPECT_EQ(costs.cutoff, 128 * costs.direct_page);
}

TEST(Model, outside_its_limits_is_refused_by_name) {
  const auto message = [](const Model& model) { return costs_of(model).error().message; };
  EXPECT_EQ(message({.call_us = 0}),
            "the time of a direct transfer (C) is 0 us; permitted are 0.001 to 50000");
  EXPECT_EQ(message({.call_us = std::nan("")}),
            "the time of a direct transfer (C) is nan us; permitted are 0.001 to 50000");
  EXPECT_EQ(message({.cutoff_bytes = -1024}),
            "the cutoff (S) is -1 KiB; permitted are 0 to 1.04858e+06");
  EXPECT_EQ(message({.direct_gbs = 0}),
            "the bandwidth of direct transfers is 0 GB/s; permitted are 0.01 to 10000");
  EXPECT_EQ(message({.cache_gbs = HUGE_VAL}),
            "the bandwidth of the page cache is inf GB/s; permitted are 0.01 to 10000");
}

TEST(Model, at_its_limits_stays_within_the_range_of_ticks) {
  const Costs costs = costs_of({50'000, 1 << 30, 0.01, 0.01}).value();
  // The largest number of transfers, each page by the more expensive path, times sixteen.
  const double most = 16.0 * (static_cast<double>(costs.call) * (pages_max / 2) +
                              static_cast<double>(costs.direct_page) * pages_max);
  EXPECT_LT(most, 0x1p62);
}

TEST(Model, of_the_paper_has_its_threshold_at_338_pages) {
  EXPECT_EQ(never_from_cache(costs_of({}).value()), 338u);
}

TEST(Model, leaves_streams_to_read_ahead_up_to_where_a_direct_transfer_takes_as_long) {
  for (const Model& model : {Model{}, Model{60, 0, 2.8, 5.7}, Model{100, 1 << 20, 10, 5},
                             Model{10, 4096, 0.5, 8}, Model{1000, 65536, 1, 0.5}}) {
    const double bytes = streamed_bytes_max(model);
    const double beyond = std::max(0.0, bytes - model.cutoff_bytes);
    const double direct = model.call_us + beyond / (model.direct_gbs * 1000);
    const double streamed =
        std::max(1.1 * bytes / (model.direct_gbs * 1000), bytes / (model.cache_gbs * 1000));
    EXPECT_NEAR(direct, streamed, 1e-9 * direct);
  }
}

TEST(Model, assumes_that_further_transfers_cost_no_more_than_alone) {
  EXPECT_EQ(next_us_of({60, 0, 2.8, 5.7, 6}), 6);
  EXPECT_EQ(next_us_of({60, 0, 2.8, 5.7, 600}), 60);
  EXPECT_EQ(next_us_of({60, 0, 2.8, 5.7}), 0);
  EXPECT_EQ(next_us_of({60, 100'000, 2, 5.7, 600}), 10);
  EXPECT_EQ(next_us_of({10, 1 << 20, 3, 10, 6}), 0);
}

TEST(Model, whose_cache_is_slower_never_pays_and_one_with_cheap_transfers_always_may) {
  EXPECT_EQ(never_from_cache(costs_of({100, 65536, 12, 5}).value()), pages_max);
  EXPECT_EQ(never_from_cache(costs_of({10, 1 << 20, 3, 10}).value()), 0u);
}

}  // namespace
}  // namespace k2k::router
