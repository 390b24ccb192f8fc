// Goal: callers are distinguished, every request carries its times, and the ledger's CPU time
// agrees with the clocks of the service threads.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "k2k/device.hpp"
#include "k2k/runtime.hpp"
#include "runtime/report/stats_text.hpp"

namespace k2k::conformance::accounting_test {
namespace {

Result<Runtime> runtime_of(const char* mode) {
  RuntimeConfig config;
  config.device.compute_units = 1;
  if (std::string_view(mode) == "split") {
    config.server.bottom_half = server::BottomHalfMode::split;
  } else if (std::string_view(mode) == "inline") {
    config.server.bottom_half = server::BottomHalfMode::on_unit;
  } else if (std::string_view(mode) == "staged") {
    config.server.bottom_half = server::BottomHalfMode::staged;
  }
  return Runtime::create(config);
}

// Each work-item fetches random bytes, a call that takes time and never waits.
void fetch(Runtime& runtime, std::uint16_t tenant, std::uint32_t groups, std::size_t bytes) {
  auto* const buffer = static_cast<std::byte*>(runtime.allocate_shared(64 * bytes).value());
  const auto report =
      runtime.launch({.groups = groups, .group_items = 64, .tenant = tenant}, [=] K2K_DEVICE {
        k2k::syscall(k2k::work_item, k2k::halting, SYS_getrandom, buffer + k2k::item_rank() * bytes,
                     bytes, 0);
      });
  runtime.free_shared(buffer);
  ASSERT_TRUE(report.ok()) << report.error().message;
}

double ledger_of(const server::Stats& stats) {
  return std::accumulate(stats.stage_seconds.begin(), stats.stage_seconds.end(), 0.0);
}

class Accounting : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, Accounting, testing::Values("monolithic", "split", "staged", "inline"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Accounting, tells_tenants_apart) {
  auto runtime = runtime_of(GetParam());
  ASSERT_TRUE(runtime.ok());
  fetch(runtime.value(), 3, 32, 4096);
  fetch(runtime.value(), 0, 4, 64);
  ASSERT_TRUE(runtime->drain().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // Until its threads settled.
  const server::Stats stats = runtime->stats();
  ASSERT_EQ(stats.tenants.size(), 2u);
  EXPECT_EQ(stats.tenants[0].tenant, 0u);
  EXPECT_EQ(stats.tenants[0].requests, 256u);
  EXPECT_EQ(stats.tenants[1].tenant, 3u);
  EXPECT_EQ(stats.tenants[1].requests, 2048u);
  // Eight times the requests, each of sixty-four times the bytes: no noise turns that around.
  EXPECT_GT(stats.tenants[1].cpu_seconds, stats.tenants[0].cpu_seconds);
}

TEST_P(Accounting, refuses_an_unknown_tenant) {
  auto runtime = runtime_of(GetParam());
  ASSERT_TRUE(runtime.ok());
  const auto report = runtime->launch({.groups = 1, .group_items = 1, .tenant = 64}, [] {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, EINVAL);
  EXPECT_NE(report.error().message.find("a launch's tenant is 0 to 63, not 64"), std::string::npos)
      << report.error().message;
}

TEST_P(Accounting, agrees_with_the_clocks_of_its_threads) {
  auto runtime = runtime_of(GetParam());
  ASSERT_TRUE(runtime.ok());
  // Enough CPU time that the part not settled yet, at most 1 ms per thread, is small.
  double spent = 0;
  for (int round = 0; round < 100 && spent < 0.2; ++round) {
    fetch(runtime.value(), 1, 64, 4096);
    spent = runtime->stats().thread_seconds;
  }
  ASSERT_GE(spent, 0.2);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  const server::Stats stats = runtime->stats();
  EXPECT_NEAR(ledger_disagreement_percent(stats), 0, 3) << to_table(stats);

  // Every table of the statistics has the same sum.
  const double ledger = ledger_of(stats);
  double tenants = stats.idle_seconds;
  double calls = stats.idle_seconds;
  double cores = 0;
  for (const auto& tenant : stats.tenants) tenants += tenant.cpu_seconds;
  for (const auto& call : stats.calls) calls += call.cpu_seconds;
  for (const auto& core : stats.cores) cores += core.cpu_seconds;
  // Settlements round to nanoseconds.
  EXPECT_NEAR(tenants / ledger, 1, 0.001);
  EXPECT_NEAR(calls / ledger, 1, 0.001);
  EXPECT_NEAR(cores / ledger, 1, 0.001);
}

TEST_P(Accounting, records_the_times_of_each_request) {
  auto runtime = runtime_of(GetParam());
  ASSERT_TRUE(runtime.ok());
  fetch(runtime.value(), 0, 4, 64);
  ASSERT_TRUE(runtime->drain().ok());
  const telemetry::RequestReport times = runtime->stats().times;
  for (std::size_t part = 0; part < telemetry::request_parts; ++part) {
    EXPECT_EQ(times.cycles[part].count(), 256u) << telemetry::request_part_names[part];
  }
  // The parts make up the whole. Stamps are sixteenths, and two clocks are read a moment apart.
  const auto sum =
      std::accumulate(times.sum_cycles.begin(), times.sum_cycles.end() - 1, std::uint64_t{0});
  const auto total = static_cast<double>(times.sum_cycles.back());
  EXPECT_NEAR(static_cast<double>(sum) / total, 1, 0.05);
}

TEST(AccountingOfWaves, takes_the_times_of_a_wave_wide_call_once) {
  auto runtime = runtime_of("monolithic");
  ASSERT_TRUE(runtime.ok());
  const auto report = runtime->launch({.groups = 1, .group_items = 64}, [] K2K_DEVICE {
    k2k::syscall(k2k::work_item, k2k::wave_wide, SYS_getpid);
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_TRUE(runtime->drain().ok());
  const server::Stats stats = runtime->stats();
  const auto completion = static_cast<std::size_t>(telemetry::RequestPart::completion);
  const auto scheduling = static_cast<std::size_t>(telemetry::RequestPart::scheduling);
  EXPECT_EQ(stats.times.cycles[completion].count(), 64u / runtime->device().wave_lanes);
  EXPECT_EQ(stats.times.cycles[scheduling].count(), 64u);
}

}  // namespace
}  // namespace k2k::conformance::accounting_test
