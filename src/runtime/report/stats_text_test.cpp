#include "runtime/report/stats_text.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "telemetry/request_times.hpp"

namespace k2k {
namespace {

server::Stats sample() {
  server::Stats stats;
  stats.calls.push_back({"pread", 17, 90, 2, {}, 1.5, 9.25, 0.75});
  stats.requests = 90;
  stats.bundles = 30;
  stats.doorbells = 45;
  stats.rescued = 1;
  stats.stage_seconds = {0.5, 0.1, 0.1, 0.2, 0.05, 0.05};
  stats.wakes = 5;
  stats.interrupt_seconds = 0.000'025;
  stats.tenants = {{0, 60, 0.5}, {7, 30, 0.25}};
  stats.cores = {{1, 1.0}};
  stats.idle_seconds = 0.25;
  stats.thread_seconds = 1.25;
  stats.detached_errors.push_back({"write", 32, 3});
  return stats;
}

TEST(StatsText, tells_calls_coalescing_and_the_observer) {
  const std::string text = to_table(sample());
  EXPECT_NE(text.find("pread"), std::string::npos);
  EXPECT_NE(text.find("bundles 30 (3.00 requests each), rescued 1"), std::string::npos) << text;
  EXPECT_NE(text.find("detached write failed 3 times with errno 32"), std::string::npos);
  EXPECT_NE(text.find("1.250000 s  ledger -20.0 %"), std::string::npos) << text;
}

TEST(StatsText, tells_the_time_of_each_tenant_call_and_core) {
  const std::string text = to_table(sample());
  EXPECT_NE(text.find("tenant 7            0.250000 s  30 requests"), std::string::npos) << text;
  EXPECT_NE(text.find("core 1              1.000000 s"), std::string::npos) << text;
  EXPECT_NE(text.find("beside these: 5 wake-ups"), std::string::npos) << text;
  const nlohmann::ordered_json json = to_json(sample());
  EXPECT_EQ(json["tenants"][1]["cpu_seconds"], 0.25);
  EXPECT_EQ(json["cores"][0]["core"], 1);
  EXPECT_EQ(json["calls"][0]["cpu_seconds"], 0.75);
  EXPECT_EQ(json["interrupts_saved"], 40);
}

TEST(StatsText, names_no_tenant_if_all_requests_are_tenant_0) {
  server::Stats stats = sample();
  stats.tenants = {{0, 90, 0.75}};
  EXPECT_EQ(to_table(stats).find("tenant"), std::string::npos);
}

TEST(StatsText, tells_the_measured_parts_of_requests) {
  server::Stats stats = sample();
  const auto times = std::make_unique<telemetry::RequestTimes>();
  times->record(telemetry::RequestPart::processing, 1000, 3);
  times->add_to(stats.times);
  EXPECT_EQ(to_json(stats)["times"]["processing"]["count"], 3);
  EXPECT_FALSE(to_json(stats)["times"].contains("completion"));
  EXPECT_NE(to_table(stats).find("  processing"), std::string::npos);
}

TEST(StatsText, has_the_same_numbers_as_json) {
  const nlohmann::ordered_json json = to_json(sample());
  EXPECT_EQ(json["calls"][0]["p99_us"], 9.25);
  EXPECT_EQ(json["requests_per_bundle"], 3.0);
  EXPECT_EQ(json["stage_seconds"]["top_half"], 0.1);
  EXPECT_NEAR(json["ledger_disagreement_percent"].get<double>(), -20, 1e-9);
}

TEST(StatsText, tells_the_parts_of_page_faults_after_faults) {
  EXPECT_EQ(to_table(sample()).find("page fault"), std::string::npos);
  EXPECT_EQ(to_json(sample())["faults"]["count"], 0);
  server::Stats stats = sample();
  const auto times = std::make_unique<telemetry::RequestTimes>();
  times->record(telemetry::RequestPart::scheduling, 1000);
  times->record(telemetry::RequestPart::total, 3000);
  times->add_to(stats.faults);
  stats.fault_ranges = 1;
  const std::string text = to_table(stats);
  EXPECT_NE(text.find("  scheduling"), std::string::npos) << text;
  EXPECT_NE(text.find("faults 1, resolved as 1 ranges"), std::string::npos) << text;
  const nlohmann::ordered_json json = to_json(stats);
  EXPECT_EQ(json["faults"]["ranges"], 1);
  EXPECT_NEAR(json["faults"]["total"]["mean_us"].get<double>(),
              3 * json["faults"]["scheduling"]["mean_us"].get<double>(), 1e-9);
}

TEST(StatsText, tells_which_sensors_a_governor_has) {
  EXPECT_EQ(to_table(sample()).find("sensors"), std::string::npos);
  server::Stats stats = sample();
  stats.governor.sensors = "canary, no pressure: why";
  stats.governor.sensor_seconds = 0.25;
  stats.governor.loss = 0.049;
  const std::string text = to_table(stats);
  EXPECT_NE(text.find("sensors: canary, no pressure: why, 0.250 s of CPU time; loss 4.9 %"),
            std::string::npos)
      << text;
  EXPECT_EQ(to_json(stats)["governor"]["sensors"], "canary, no pressure: why");
  EXPECT_EQ(to_json(stats)["governor"]["sensor_seconds"], 0.25);
}

TEST(StatsText, tells_all_that_the_cap_was_charged) {
  server::Stats stats = sample();
  EXPECT_EQ(to_table(stats).find("charged"), std::string::npos);
  stats.governor.cap = 0.05;
  stats.governor.charged_seconds = 0.5;
  const std::string text = to_table(stats);
  EXPECT_NE(text.find("cap 5.0 %, 0.500 s charged, throttled "), std::string::npos) << text;
  EXPECT_EQ(to_json(stats)["governor"]["charged_seconds"], 0.5);
}

TEST(StatsText, tells_the_charges_for_kernel_threads) {
  server::Stats stats = sample();
  stats.governor.cap = 0.05;
  EXPECT_EQ(to_table(stats).find("kernel threads"), std::string::npos);
  stats.governor.kernel_thread_seconds = 0.125;
  const std::string text = to_table(stats);
  EXPECT_NE(text.find("cap: 0.125 s charged for kernel threads behind fsync and its like"),
            std::string::npos)
      << text;
  EXPECT_EQ(to_json(stats)["governor"]["kernel_thread_seconds"], 0.125);
}

TEST(StatsText, tells_the_charges_for_interrupts) {
  server::Stats stats = sample();
  stats.governor.cap = 0.05;
  stats.governor.interrupt_us = 1;
  EXPECT_EQ(to_table(stats).find("interrupts behind requests"), std::string::npos);
  stats.governor.request_interrupt_seconds = 0.125;
  stats.governor.interrupt_us = 14.25;
  stats.governor.interrupts = "sampled";
  const std::string text = to_table(stats);
  EXPECT_NE(
      text.find("cap: 0.125 s charged for interrupts behind requests, now 14.2 us each, sampled\n"),
      std::string::npos)
      << text;
  const auto json = to_json(stats)["governor"];
  EXPECT_EQ(json["request_interrupt_seconds"], 0.125);
  EXPECT_EQ(json["interrupt_us"], 14.25);
  EXPECT_EQ(json["interrupts"], "sampled");
}

TEST(StatsText, tells_the_hosts_limit_if_there_is_one) {
  EXPECT_EQ(to_table(sample()).find("host limit"), std::string::npos);
  EXPECT_EQ(to_json(sample())["governor"]["host_limit"], 0.0);
  server::Stats stats = sample();
  stats.governor.host_limit = 0.05;
  stats.governor.host_part = 0.0125;
  stats.governor.host_holders = 3;
  EXPECT_NE(to_table(stats).find("host limit 5 %, this runtime's part 1.25 %, shared by 3\n"),
            std::string::npos)
      << to_table(stats);
  EXPECT_EQ(to_json(stats)["governor"]["host_part"], 0.0125);
  EXPECT_EQ(to_json(stats)["governor"]["host_holders"], 3);
}

TEST(StatsText, gives_the_reason_of_a_missing_control_socket) {
  EXPECT_EQ(to_table(sample()).find("control"), std::string::npos);
  server::Stats stats = sample();
  stats.control.absent = "control: why";
  EXPECT_NE(to_table(stats).find("\nno control socket: control: why\n"), std::string::npos);
  stats.control = {"/run/user/1/k2k/5", "", 0.5};
  EXPECT_EQ(to_json(stats)["control"]["socket"], "/run/user/1/k2k/5");
  EXPECT_EQ(to_json(stats)["control"]["cpu_seconds"], 0.5);
}

TEST(StatsText, of_a_server_that_did_nothing_divides_by_nothing) {
  EXPECT_EQ(ledger_disagreement_percent({}), 0);
  EXPECT_EQ(to_json({})["requests_per_bundle"], 0.0);
  EXPECT_NE(to_table({}).find("bundles 0 (0.00 requests each)"), std::string::npos);
}

}  // namespace
}  // namespace k2k
