// Goal: `k2k route` plans from a file, and reports errors in it.

#include <fstream>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::route_test {
namespace {

using nlohmann::json;

class Route : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    std::string pattern = testing::TempDir() + "k2k_route_XXXXXX";
    const int descriptor = mkstemp(pattern.data());
    ASSERT_GE(descriptor, 0);
    ::close(descriptor);
    file_ = pattern;
  }
  void TearDown() override { ::unlink(file_.c_str()); }

  [[nodiscard]] Outcome plan(const std::string& text, const std::string& options = "") const {
    std::ofstream(file_) << text;
    return run("route plan --residency " + file_ + " " + options + " 2>&1");
  }
  // The last line, which is the object.
  static json last_line(const std::string& out) {
    const std::size_t end = out.find_last_not_of('\n');
    const std::size_t begin = out.find_last_of('\n', end);
    return json::parse(out.substr(begin == out.npos ? 0 : begin + 1, end + 1));
  }

  std::string file_;
};

TEST_F(Route, plan_is_a_list_of_segments_and_their_time) {
  const std::string text = std::string(1000, '1') + std::string(600, '0') + "\n01010\n";
  const Outcome outcome = plan(text,
                               "--c-us 584 --cutoff-kib 512 --bw-p2p-gbs 2.65 --bw-pc-gbs 10.1 "
                               "--schedule exact --json");
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json plans = last_line(outcome.out)["plans"];
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0]["segments"], (json{{0, 1000, "cache"}, {1000, 600, "p2p"}}));
  EXPECT_NEAR(plans[0]["time_us"], 1000 * 4096 / 10100.0 + 584 + 472 * 4096 / 2650.0, 1e-9);
  EXPECT_EQ(plans[1]["segments"], (json{{0, 5, "p2p"}}));
  EXPECT_EQ(plans[1]["time_us"], 584);
}

TEST_F(Route, engines_lists_the_engines_of_each_memory_and_the_reasons_against_the_others) {
  const json all = last_line(run("route engines --json").out)["memories"];
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["memory"], "mapped");
  ASSERT_EQ(all[0]["engines"].size(), 7u);
  for (const json& each : all[0]["engines"]) {
    EXPECT_NE(each["says"], "");
    const bool there = each["there"];
    EXPECT_TRUE(there || each["name"] != "bar");
    EXPECT_TRUE(!there || each["name"] != "cufile");
  }
  EXPECT_EQ(all[1]["memory"], "cuda");
  EXPECT_NE(all[1]["there"], all[1]["engines"].empty());
  const std::string text = run("route engines").out;
  EXPECT_NE(text.find("mapped  bar       yes    read by the CPU"), std::string::npos) << text;
}

TEST_F(Route, plan_is_a_table_for_people) {
  EXPECT_EQ(plan("01010\n").out,
            "request  pages  us     segments\n"
            "1        5      584.0  0-4 p2p\n");
  const Outcome many = plan("0101010101\n", "--c-us 0.1 --cutoff-kib 0");
  EXPECT_NE(many.out.find(", and 4 more (--json)\n"), std::string::npos) << many.out;
}

TEST_F(Route, every_schedule_covers_the_request) {
  const std::string text = std::string(700, '1') + "0" + std::string(1300, '1');
  for (const char* schedule : {"exact", "greedy", "greedy-range", "split", "overlapped"}) {
    const Outcome outcome = plan(text, std::string("--json --schedule ") + schedule);
    ASSERT_EQ(outcome.status, 0) << outcome.out;
    const json all = last_line(outcome.out);
    int next = 0;
    for (const json& segment : all["plans"][0]["segments"]) {
      EXPECT_EQ(segment[0], next) << schedule;
      next += segment[1].get<int>();
    }
    EXPECT_EQ(next, 2001) << schedule;
  }
}

TEST_F(Route, refuses_texts_that_are_no_residency) {
  const std::string form = "; each line is a request, each character a page: 1 cached, 0 not\n";
  const std::pair<const char*, const char*> wrong[] = {
      {"", "no line"},
      {"01\n\n10\n", "line 2 is empty"},
      {"01\n012\n", "line 2, column 3: '2'"},
      {"01\r\n", "line 1, column 3: the byte 0x0d"},
  };
  for (const auto& [text, why] : wrong) {
    const Outcome outcome = plan(text);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.out, "k2k: " + file_ + ": " + why + form);
  }
  const Outcome missing = run("route plan --residency /no/such/file 2>&1");
  EXPECT_EQ(missing.status, 1);
  EXPECT_EQ(missing.out,
            "k2k: cannot read /no/such/file: No such file or directory; --residency names a file "
            "with one request a line, one character a page\n");
  EXPECT_NE(run("route plan --residency / 2>&1").out.find("cannot read /: Is a directory"),
            std::string::npos);
  EXPECT_EQ(run("route plan --residency /dev/zero 2>&1").out,
            "k2k: /dev/zero is longer than 64.0 MiB; split it\n");
}

TEST_F(Route, refuses_nonsense_numbers_and_words) {
  const std::pair<const char*, const char*> wrong[] = {
      {"--c-us -1", "the time of a direct transfer (C) is -1 us; permitted are 0.001 to 50000"},
      {"--c-us nan", "the time of a direct transfer (C) is nan us"},
      {"--cutoff-kib -4", "the cutoff (S) is -4 KiB"},
      {"--bw-p2p-gbs 0", "the bandwidth of direct transfers is 0 GB/s"},
      {"--bw-pc-gbs inf", "the bandwidth of the page cache is inf GB/s"},
      {"--c-us much", "--c-us"},
      {"--bw-pc-gbs 10.1GB", "--bw-pc-gbs"},
      {"--schedule best",
       "'best' is not a schedule; permitted: exact, greedy, greedy-range, split, overlapped"},
  };
  for (const auto& [options, why] : wrong) {
    const Outcome outcome = plan("01\n", options);
    EXPECT_EQ(outcome.status, 2) << options;
    EXPECT_EQ(outcome.out.find("k2k: "), 0u) << outcome.out;
    EXPECT_NE(outcome.out.find(why), std::string::npos) << outcome.out;
  }
  EXPECT_EQ(run("route 2>&1").status, 2);
  EXPECT_EQ(run("route plan 2>&1").status, 2);
  EXPECT_EQ(run("route simulate --vectors 0 2>&1").status, 2);
  EXPECT_EQ(run("route simulate --c-us 0 2>&1").status, 2);
}

TEST_F(Route, simulate_finds_the_exact_schedule_exact) {
  const Outcome outcome = run("route simulate --vectors 50 --json");
  ASSERT_EQ(outcome.status, 0);
  const json all = last_line(outcome.out);
  EXPECT_EQ(all["exact_vs_optimum_min"], 1.0);
  EXPECT_GT(all["greedy_vs_optimum_mean"], 0.9);
  EXPECT_LE(all["greedy_vs_optimum_mean"], 1.0);
  EXPECT_GT(all["exact_ns_median"], 0);
  EXPECT_GE(all["exact_ns_worst_pattern"], all["exact_ns_median"]);
  EXPECT_GT(all["loop_ns"], 0);
  EXPECT_EQ(all["vectors"], 400);
  EXPECT_EQ(all["patterns"].size(), 8u);
  // The same numbers give the same residencies.
  const json again = last_line(run("route simulate --vectors 50 --json").out);
  EXPECT_EQ(again["greedy_vs_optimum_mean"], all["greedy_vs_optimum_mean"]);
  EXPECT_NE(
      last_line(run("route simulate --vectors 50 --seed 2 --json").out)["greedy_vs_optimum_mean"],
      all["greedy_vs_optimum_mean"]);
}

TEST_F(Route, simulate_is_a_table_for_people) {
  const std::string out = run("route simulate --vectors 5").out;
  EXPECT_EQ(out.find("pattern "), 0u) << out;
  EXPECT_NE(out.find("\nalternate "), std::string::npos) << out;
  EXPECT_NE(out.find("40 residencies of 2048 pages."), std::string::npos) << out;
}

}  // namespace
}  // namespace k2k::end_to_end::route_test
