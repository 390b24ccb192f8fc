// Goal: Prometheus can read the metrics page: one family after the other, each explained,
// histograms with consistent sums, labels that no name can break.
// Method: a parser of the format that refuses everything else.

#include "runtime/report/metrics_text.hpp"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "runtime/report/metrics_page_fixture.hpp"

namespace k2k {
namespace {

server::Stats example() {
  server::Stats stats;
  stats.requests = 5;
  stats.preprocess_wakes = 4;
  stats.preprocessed = 9;
  stats.governor.cap = 0.05;
  stats.governor.loss = 0.013;
  stats.governor.free_seconds = 1.5;
  server::CallStats call;
  call.name = "a \"call\"\\\nof two lines";
  call.count = 3;
  for (const std::uint64_t cycles :
       {std::uint64_t{1}, std::uint64_t{100'000}, std::uint64_t{1} << 60}) {
    call.latency_cycles.add(telemetry::bucket_of(cycles), 1);
  }
  stats.calls.push_back(call);
  stats.tenants.push_back({7, 5, 0.25});
  stats.cores.push_back({1, 0.5});
  stats.governor.budgets = {{0, 0.01, 0, 0}, {7, 0.04, 2.5, 3}};
  stats.governor.conflicts = {"tenant 7 is guaranteed more"};
  return stats;
}

TEST(MetricsText, can_be_read_by_prometheus) {
  const MetricsPage page =
      parse_metrics(to_prometheus(std::vector<RuntimeMetrics>{{1, example()}}));
  EXPECT_EQ(page.wrong, "");
  EXPECT_EQ(page.samples.at("k2k_requests_total{runtime=\"1\"}"), 5);
  EXPECT_EQ(page.samples.at("k2k_cap_ratio{runtime=\"1\"}"), 0.05);
  EXPECT_EQ(page.samples.at("k2k_loss_ratio{runtime=\"1\"}"), 0.013);
  EXPECT_EQ(page.samples.at("k2k_free_cpu_seconds_total{runtime=\"1\"}"), 1.5);
  EXPECT_EQ(page.samples.at("k2k_preprocess_wakes_total{runtime=\"1\"}"), 4);
  EXPECT_EQ(page.samples.at("k2k_preprocessed_requests_total{runtime=\"1\"}"), 9);
  EXPECT_EQ(page.samples.at("k2k_core_cpu_seconds_total{runtime=\"1\",core=\"1\"}"), 0.5);
  EXPECT_EQ(page.samples.at("k2k_tenant_requests_total{runtime=\"1\",tenant=\"7\"}"), 5);
  EXPECT_EQ(page.samples.at("k2k_budget_part_ratio{runtime=\"1\",tenant=\"0\"}"), 0.01);
  EXPECT_EQ(page.samples.at("k2k_budget_throttled_seconds_total{runtime=\"1\",tenant=\"7\"}"), 2.5);
  EXPECT_EQ(page.samples.at("k2k_guarantee_conflicts{runtime=\"1\"}"), 1);
  EXPECT_EQ(page.samples.count("k2k_stage_cpu_seconds_total{runtime=\"1\",stage=\"bottom_half\"}"),
            1u);
  const std::string call = "runtime=\"1\",call=\"a \\\"call\\\"\\\\\\nof two lines\"";
  EXPECT_EQ(page.samples.at("k2k_call_requests_total{" + call + "}"), 3);
  EXPECT_EQ(page.samples.at("k2k_call_latency_seconds_bucket{" + call + ",le=\"1e-06\"}"), 1);
  EXPECT_EQ(page.samples.at("k2k_call_latency_seconds_bucket{" + call + ",le=\"10\"}"), 2)
      << "the largest latency is counted in years";
  EXPECT_EQ(page.samples.at("k2k_call_latency_seconds_count{" + call + "}"), 3);
}

TEST(MetricsText, two_runtimes_stand_in_one_family) {
  const std::vector<RuntimeMetrics> both = {{1, example()}, {2, example()}};
  const MetricsPage page = parse_metrics(to_prometheus(both));
  EXPECT_EQ(page.wrong, "");
  EXPECT_EQ(page.samples.at("k2k_requests_total{runtime=\"2\"}"), 5);
}

TEST(MetricsText, without_a_runtime_is_still_a_page) {
  EXPECT_EQ(parse_metrics(to_prometheus({})).wrong, "");
}

TEST(MetricsText, parser_of_this_test_finds_mistakes) {
  EXPECT_NE(parse_metrics("k2k_requests_total 5\n").wrong, "") << "no TYPE";
  EXPECT_NE(parse_metrics("# TYPE a_total counter\n# HELP a_total x\na_total five\n").wrong, "");
  EXPECT_NE(parse_metrics("# HELP a x\n# TYPE a counter\na 5\n").wrong, "") << "no _total";
  EXPECT_NE(parse_metrics("# HELP a x\n# TYPE a gauge\na 5").wrong, "") << "no newline";
  EXPECT_NE(parse_metrics("# HELP h x\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\n"
                          "h_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n")
                .wrong,
            "")
      << "a bucket falls";
}

}  // namespace
}  // namespace k2k
