// Goal: every form of a report is well-formed, whatever the names of threads are, and names what it
// does not know.

#include <gtest/gtest.h>

#include "cli/watch/show/json.hpp"
#include "cli/watch/show/metrics.hpp"
#include "cli/watch/show/page.hpp"

namespace k2k::watch {
namespace {

// Names with quotes, tags, a line's end and bytes that are no UTF-8.
const std::string hostile = "<b>\"x\\\n\xff\xfe&";

Report hostile_report(bool traced) {
  Report report;
  report.seconds = 2;
  report.cores = {0, 1};
  report.traced = traced;
  report.no_trace = hostile;
  report.classes.user_s = 1;
  report.classes.idle_s = 3;
  report.classes.total_s = 4;
  report.by_core[0] = {.user_s = 1};
  Row row;
  row.part = row.name = row.device = row.driver = hostile;
  row.kind = "accelerator";
  row.source = "thread";
  row.cpu_s = 0.5;
  row.count = 7;
  row.by_core[1] = 0.5;
  report.rows.push_back(row);
  report.victims.push_back({12, hostile, 0.25, std::nullopt, std::nullopt});
  report.harms.push_back({hostile, hostile, 12, 0.125, 3});
  return report;
}

TEST(WatchForms, json_is_one_line_with_all_fields) {
  const std::string line = json_line(hostile_report(false), "summary");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const nlohmann::json json = nlohmann::json::parse(line);
  EXPECT_EQ(json["schema"], report_schema);
  EXPECT_EQ(json["measured_by"], "counters");
  EXPECT_EQ(json["classes"]["covered"], 1.0);
  EXPECT_EQ(json["classes"]["wall_s"], 4.0);
  EXPECT_EQ(json["rows"][0]["count"], 7);
  EXPECT_EQ(json["rows"][0]["cores"]["1"], 0.5);
  EXPECT_TRUE(json["victims"][0]["behind_kernel_threads_s"].is_null());
  EXPECT_EQ(json["harms"][0]["times"], 3);
  EXPECT_TRUE(
      nlohmann::json::parse(json_line(hostile_report(true), "interval"))["classes"].contains(
          "programs_s"));
}

TEST(WatchForms, metrics_have_whole_lines_of_printable_text) {
  const std::string page = as_metrics(hostile_report(true));
  for (const char letter : page) {
    EXPECT_TRUE(letter == '\n' || (letter >= ' ' && letter <= '~'));
  }
  EXPECT_NE(page.find("name=\"<b>\\\"x\\\\???&\""), std::string::npos) << page;
  EXPECT_NE(page.find("k2k_watch_class_seconds_total{class=\"programs\"} 1\n"), std::string::npos);
  EXPECT_NE(page.find("k2k_watch_covered_ratio 1\n"), std::string::npos);
}

TEST(WatchForms, page_has_no_tag_of_a_thread) {
  const std::string page = page_of(hostile_report(false), hostile, hostile);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;&quot;x\\"), std::string::npos);
  EXPECT_NE(page.find("needs BPF"), std::string::npos);
  EXPECT_NE(page.find("behind"), std::string::npos);
}

}  // namespace
}  // namespace k2k::watch
