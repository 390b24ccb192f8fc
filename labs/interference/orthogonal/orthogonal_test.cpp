// Goal: each cap has a row for every combination, the server gets that configuration, and a row
// reports its measurements. A stream of faults ends when it is stopped, with its error if it has
// one.

#include "labs/interference/orthogonal/orthogonal.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <tuple>

#include "labs/interference/orthogonal/fault_stream.hpp"

namespace k2k::labs::orthogonal {
namespace {

using namespace std::chrono_literals;
using server::BottomHalfMode;
using server::Steering;

TEST(Orthogonal, cases_are_twelve_combinations_under_three_caps) {
  std::set<std::tuple<Steering, bool, BottomHalfMode, std::uint32_t>> all;
  for (const Case& one : all_cases()) {
    all.emplace(one.steering, one.coalescing, one.bottom_half, one.cap_permille);
  }
  EXPECT_EQ(all.size(), 36u);
  EXPECT_EQ(all_cases().size(), 36u);
}

TEST(Orthogonal, servers_get_the_combination_and_the_cap) {
  for (const Case& one : all_cases()) {
    const auto runtime = Runtime::create(configuration_of({}, one));
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    const server::ServerConfig config = runtime.value().server_config();
    EXPECT_EQ(config.steering, one.steering);
    EXPECT_EQ(config.cores.size(), one.steering == Steering::steered ? 1u : 0u);
    EXPECT_EQ(config.coalesce_window_us != 0, one.coalescing);
    EXPECT_EQ(config.bottom_half, one.bottom_half);
    EXPECT_EQ(config.cap_permille, one.cap_permille);
  }
}

TEST(Orthogonal, bottom_halves_have_the_papers_names) {
  EXPECT_STREQ(bottom_half_of({.bottom_half = BottomHalfMode::monolithic}), "monolithic");
  EXPECT_STREQ(bottom_half_of({.bottom_half = BottomHalfMode::split}), "split");
  EXPECT_STREQ(bottom_half_of({.bottom_half = BottomHalfMode::staged}), "staged");
}

TEST(Orthogonal, rows_report_the_measurements) {
  const auto row = measure({}, {Steering::steered, true, BottomHalfMode::split, 250}, 0.3);
  ASSERT_TRUE(row.ok()) << row.error().message;
  EXPECT_EQ(row.value()["steering"], "steered");
  EXPECT_EQ(row.value()["coalescing"], "on");
  EXPECT_EQ(row.value()["bottom_half"], "split");
  EXPECT_EQ(row.value()["cap"], 0.25);
  for (const char* key : {"share", "throughput", "per_cpu_s", "delay_p50_us", "delay_p99_us"}) {
    EXPECT_GT(row.value()[key].get<double>(), 0) << key;
  }
  EXPECT_LE(row.value()["share"].get<double>(), 1.0);
  EXPECT_LE(row.value()["delay_p50_us"].get<double>(), row.value()["delay_p99_us"].get<double>());
}

RuntimeConfig one_unit() {
  RuntimeConfig config;
  config.device.compute_units = 1;
  return config;
}

TEST(FaultStream, faults_until_it_is_stopped) {
  auto runtime = Runtime::create(one_unit());
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  FaultStream stream;
  ASSERT_TRUE(stream.start(runtime.value()).ok());
  for (int wait = 0; wait < 10'000 && runtime->stats().faults.count() < 1'000; ++wait) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GE(runtime->stats().faults.count(), 1'000u);
  EXPECT_FALSE(stream.ended());
  const Status status = stream.stop();
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(stream.ended());
  EXPECT_EQ(runtime->stats().in_flight, 0u);
}

TEST(FaultStream, returns_the_error_that_ended_it) {
  RuntimeConfig config = one_unit();
  config.device.stack_bytes = 16384;
  auto runtime = Runtime::create(config);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  FaultStream stream;
  ASSERT_TRUE(stream.start(runtime.value()).ok());
  for (int wait = 0; wait < 10'000 && !stream.ended(); ++wait) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(stream.ended());
  const Status status = stream.stop();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, EINVAL);
  const auto row = measure(config, all_cases().front(), 0.2);
  ASSERT_FALSE(row.ok());
  EXPECT_EQ(row.error().message, status.error().message);
}

}  // namespace
}  // namespace k2k::labs::orthogonal
