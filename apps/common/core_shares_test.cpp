// Goal: server and device have at least a core each, half of the cores serve, and at most as many
// as there can be rings. Or units serve their own calls, so many as the application wants.

#include "apps/common/core_shares.hpp"

#include <gtest/gtest.h>

namespace k2k::apps {
namespace {

TEST(CoreShares, are_halves) {
  const struct {
    std::uint32_t cores;
    std::uint32_t serving;
    std::uint32_t searching;
  } expected[] = {{0, 1, 1}, {1, 1, 1}, {2, 1, 1},  {3, 1, 2},
                  {4, 2, 2}, {5, 2, 3}, {16, 8, 8}, {64, 8, 56}};
  for (const auto& [cores, serving, searching] : expected) {
    const CoreShares shares = shares_of(cores);
    EXPECT_EQ(shares.serving, serving) << cores;
    EXPECT_EQ(shares.searching, searching) << cores;
  }
}

TEST(CoreShares, are_units_that_serve_their_own_calls) {
  LoadedConfig loaded;
  loaded.config.backend = "cpu";
  share_cores(loaded, 3);
  EXPECT_EQ(loaded.config.device.compute_units, 3u);
  EXPECT_EQ(loaded.config.device.rings, 3u);
  EXPECT_EQ(loaded.config.server.top_halves, 3u);
  EXPECT_EQ(loaded.config.server.bottom_half, server::BottomHalfMode::on_unit);
  share_cores(loaded, 0);
  EXPECT_EQ(loaded.config.device.compute_units, 1u) << "half of one core";
  share_cores(loaded, 64);
  EXPECT_EQ(loaded.config.device.compute_units, 64u);
  EXPECT_EQ(loaded.config.device.rings, CoreShares::serving_max);
}

TEST(CoreShares, leave_what_the_user_chose_and_devices_with_cores_of_their_own) {
  LoadedConfig chosen;
  chosen.config.backend = "cpu";
  chosen.config.device.compute_units = 5;
  chosen.settings = {{"device.compute_units", "5", "flag --device.compute_units"}};
  share_cores(chosen, 3);
  EXPECT_EQ(chosen.config.device.compute_units, 5u);
  LoadedConfig gpu;
  gpu.config.backend = "cuda";
  const std::uint32_t units = gpu.config.device.compute_units;
  share_cores(gpu, units + 1);
  EXPECT_EQ(gpu.config.device.compute_units, units);
}

}  // namespace
}  // namespace k2k::apps
