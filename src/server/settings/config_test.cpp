// Goal: every limit is checked at its edges, and a refusal names key, value and range.

#include "server/settings/config.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <string>

#include "server/server.hpp"

namespace k2k::server {
namespace {

std::string refusal_of(const ServerConfig& config, std::uint32_t rings = 1) {
  const Status status = validate(config, rings);
  if (status.ok()) return "";
  EXPECT_EQ(status.error().code, EINVAL);
  return status.error().message;
}

TEST(ServerConfig, is_valid_by_default) { EXPECT_EQ(refusal_of({}), ""); }

TEST(ServerConfig, keeps_every_number_within_its_range) {
  struct Case {
    const char* key;
    std::uint32_t ServerConfig::* field;
    std::uint32_t low, high;
  };
  for (const Case& limit :
       {Case{"coalesce_window_us", &ServerConfig::coalesce_window_us, 0, 10'000},
        Case{"coalesce_max", &ServerConfig::coalesce_max, 1, 4096},
        Case{"coalesce_delay_us", &ServerConfig::coalesce_delay_us, 10, 10'000},
        Case{"threads_max", &ServerConfig::threads_max, 3, 256},
        Case{"spin_us", &ServerConfig::spin_us, 0, 1'000'000},
        Case{"yield_us", &ServerConfig::yield_us, 0, 1'000'000},
        Case{"sleep_us", &ServerConfig::sleep_us, 50, 1'000'000},
        Case{"rescan_us", &ServerConfig::rescan_us, 100, 1'000'000},
        Case{"takeover_us", &ServerConfig::takeover_us, 50, 1'000'000},
        Case{"shutdown_ms", &ServerConfig::shutdown_ms, 0, 600'000},
        Case{"cap_permille", &ServerConfig::cap_permille, 0, 1000},
        Case{"loss_max_permille", &ServerConfig::loss_max_permille, 1, 1000}}) {
    SCOPED_TRACE(limit.key);
    ServerConfig config;
    config.*limit.field = limit.low;
    EXPECT_EQ(refusal_of(config), "");
    config.*limit.field = limit.high;
    EXPECT_EQ(refusal_of(config), "");
    config.*limit.field = limit.high + 1;
    EXPECT_EQ(refusal_of(config), "server." + std::string(limit.key) + " is " +
                                      std::to_string(limit.high + 1) + "; permitted are " +
                                      std::to_string(limit.low) + " to " +
                                      std::to_string(limit.high));
    if (limit.low == 0) continue;
    config.*limit.field = limit.low - 1;
    EXPECT_NE(refusal_of(config), "");
  }
}

TEST(ServerConfig, gives_every_top_half_a_ring_and_leaves_a_thread_beside_them) {
  ServerConfig config;
  config.top_halves = 2;
  EXPECT_EQ(refusal_of(config, 2), "");
  EXPECT_EQ(refusal_of(config, 1),
            "server.top_halves is 2; permitted are 1 to 1, one a doorbell ring (device.rings)");
  config.top_halves = 0;
  EXPECT_NE(refusal_of(config, 2), "");
  config.top_halves = 2;
  config.threads_max = 3;
  EXPECT_EQ(refusal_of(config, 2), "server.threads_max is 3; 2 top halves need at least 4");
  config.threads_max = 4;
  EXPECT_EQ(refusal_of(config, 2), "");
}

TEST(ServerConfig, keeps_a_cap_by_every_policy) {
  ServerConfig config;
  config.cap_permille = 50;
  for (const auto policy : governor::all_policies) {
    config.governor = policy;
    EXPECT_EQ(refusal_of(config), "") << governor::name_of(policy);
  }
}

TEST(ServerConfig, refuses_budgets_of_tenants_that_cannot_be_kept) {
  ServerConfig config;
  config.tenants = "1:weight=3 2:guarantee=4%,rate=500";
  EXPECT_EQ(refusal_of(config), "") << "a cap may come later";
  config.cap_permille = 40;
  EXPECT_EQ(refusal_of(config), "");
  config.cap_permille = 30;
  EXPECT_EQ(refusal_of(config),
            "server.tenants guarantees 4 % of all cores' CPU time, more than the cap of 3 %; raise "
            "server.cap_permille or lower a guarantee");
  config.cap_permille = 0;
  config.governor = governor::Policy::backoff;
  EXPECT_EQ(refusal_of(config),
            "server.tenants guarantees something to tenant 2, which server.governor = \"backoff\" "
            "cannot keep; use budget");
  config.governor = governor::Policy::displaced;
  EXPECT_EQ(refusal_of(config), "");
  config.tenants = "1:weight=3 1:weight=4";
  EXPECT_NE(refusal_of(config).find("'1:weight=4' names a tenant for the second time"),
            std::string::npos);
}

TEST(ServerConfig, coalesces_nothing_that_units_serve_themselves) {
  ServerConfig config;
  config.bottom_half = BottomHalfMode::on_unit;
  EXPECT_EQ(refusal_of(config), "");
  const std::string refusal =
      "server.bottom_half = \"inline\" serves what was rung at once; set "
      "server.coalesce_window_us = 0 and server.coalescing = \"fixed\"";
  config.coalesce_window_us = 1;
  EXPECT_EQ(refusal_of(config), refusal);
  config.coalesce_window_us = 0;
  config.coalescing = Coalescing::adaptive;
  EXPECT_EQ(refusal_of(config), refusal);
}

TEST(ServerConfig, has_no_walls_around_units_that_serve) {
  ServerConfig config;
  config.walls = WallMode::on;
  EXPECT_EQ(refusal_of(config), "");
  config.bottom_half = BottomHalfMode::on_unit;
  EXPECT_EQ(refusal_of(config),
            "server.bottom_half = \"inline\" makes calls on the device's units, which have no "
            "walls; set server.walls = \"off\" or server.bottom_half = \"monolithic\"");
}

TEST(ServerConfig, steers_only_to_cores_this_process_may_use) {
  ServerConfig config;
  config.steering = Steering::steered;
  EXPECT_EQ(refusal_of(config), "server.steering is steered, but server.cores names no core");
  config.cores = {100'000};
  EXPECT_EQ(refusal_of(config),
            "server.cores names core 100000, which is offline or not allowed for this process (see "
            "taskset -p)");
  config.steering = Steering::spread;
  EXPECT_NE(refusal_of(config), "") << "a wrong core is refused even while it is not used";
}

TEST(ServerConfig, leaves_a_thread_for_the_stage_and_steers_it_to_usable_cores) {
  ServerConfig config;
  config.bottom_half = BottomHalfMode::staged;
  config.threads_max = 3;
  EXPECT_EQ(refusal_of(config),
            "server.threads_max is 3; 1 top halves and the pre-processing thread need at least 4");
  config.threads_max = 4;
  EXPECT_EQ(refusal_of(config), "");
  config.preprocess_cores = {100'000};
  EXPECT_EQ(refusal_of(config).find("server.preprocess_cores names core 100000, which is offline"),
            0u);
  config.preprocess_cores.clear();
  config.worker_cores = {100'000};
  EXPECT_EQ(refusal_of(config).find("server.worker_cores names core 100000, which is offline"), 0u);
}

}  // namespace
}  // namespace k2k::server
