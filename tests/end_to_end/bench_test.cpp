// Goal: k2k bench NAME --brief runs to its end, and its output has the format that readers and
// tools/devtool/figures.py expect. The figures themselves are not checked, because this machine is
// busy.
// Method: runs the binary named by K2K_CLI.

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::bench_test {
namespace {

using k2k::end_to_end::Outcome;
using k2k::end_to_end::Program;
using nlohmann::json;

class Bench : public Program {
 protected:
  void SetUp() override {
#if defined(K2K_TSAN)
    GTEST_SKIP() << "thousands of work-items: ThreadSanitizer has room for 500 (cpu-backend.md)";
#endif
    Program::SetUp();
  }

  [[nodiscard]] Outcome bench(const std::string& arguments) const {
    return run("bench " + arguments);
  }

  json brief(const std::string& name) {
    const Outcome outcome = bench(name + " --brief --json");
    EXPECT_EQ(outcome.status, 0) << outcome.out;
    const json result = json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(result.is_object()) << outcome.out;
    return result;
  }

  // Each series has a positive median, and a mean and a deviation, for each place.
  static void expect_figure(const json& figure, const std::vector<std::string>& series) {
    ASSERT_TRUE(figure.is_object());
    EXPECT_GE(figure["runs"].get<int>(), 1);
    EXPECT_FALSE(figure["y"]["unit"].get<std::string>().empty());
    const std::size_t places = figure["x"]["values"].size();
    EXPECT_GE(places, 1u);
    EXPECT_EQ(figure["series"].size(), series.size());
    for (const std::string& name : series) {
      ASSERT_TRUE(figure["series"].contains(name)) << name;
      for (const char* key : {"median", "mean", "sd"}) {
        EXPECT_EQ(figure["series"][name][key].size(), places) << name << ' ' << key;
      }
      for (const json& value : figure["series"][name]["median"]) EXPECT_GT(value.get<double>(), 0);
    }
  }
};

TEST_F(Bench, granularity_has_both_halves_of_the_figure) {
  const json result = brief("granularity");
  expect_figure(result["left"], {"work-item", "work-group 64", "kernel"});
  expect_figure(result["right"], {"work-group 64", "work-group 128", "work-group 256",
                                  "work-group 512", "work-group 1024"});
  expect_figure(result["one_top_half"],
                {"work-item", "work-group 64", "kernel", "work-group 1024"});
}

TEST_F(Bench, ordering_has_four_manners) {
  expect_figure(brief("ordering")["figure"],
                {"strong-block", "strong-non-block", "weak-block", "weak-non-block"});
}

TEST_F(Bench, waiting_compares_polling_with_halting) {
  const json result = brief("waiting");
  expect_figure(result["cpu_access"], {"none", "polling", "halting"});
  expect_figure(result["neighbour"], {"polling", "halting"});
}

TEST_F(Bench, coalescing_makes_bundles_only_with_a_window) {
  const json result = brief("coalescing");
  expect_figure(result["figure"],
                {"woken, one", "woken, up to 8", "polled, one", "polled, up to 8"});
  const json& bundles = result["requests_a_bundle"];
  EXPECT_LT(bundles["woken, one"].get<double>(), 1.1);
  EXPECT_GT(bundles["woken, up to 8"].get<double>(), 1.5);
  EXPECT_LE(bundles["woken, up to 8"].get<double>(), 8.1);
}

TEST_F(Bench, grep_agrees_with_its_peers) {
  const json result = brief("grep");
  EXPECT_GT(result["matches"].get<int>(), 0);
  EXPECT_TRUE(result["names_identical"].get<bool>());
  const json& programs = result["programs"];
  ASSERT_GE(programs.size(), 4u);
  EXPECT_EQ(programs[0]["program"], "GNU grep");
  EXPECT_EQ(programs.back()["program"], "work-item halting");
  for (const json& program : programs) {
    EXPECT_GT(program["warm_ms"].get<double>(), 0) << program;
    EXPECT_GT(program["cold_ms"].get<double>(), 0) << program;
  }
}

TEST_F(Bench, wordcount_has_the_same_counts_in_every_way) {
  const json result = brief("wordcount");
  EXPECT_TRUE(result["counts_identical"].get<bool>());
  EXPECT_EQ(result["strings"], 64);
  ASSERT_EQ(result["ways"].size(), 4u);
  for (const json& way : result["ways"]) {
    EXPECT_GT(way["warm_ms"].get<double>(), 0) << way;
    EXPECT_GT(way["cold_ms"].get<double>(), 0) << way;
  }
  EXPECT_EQ(result["goals"].size(), 3u);
  EXPECT_EQ(result["runs"], 4) << "warm; half as many are cold";
}

TEST_F(Bench, signal_search_has_the_same_digests_in_every_way) {
  const Outcome outcome = bench("signal_search --brief --json 2>&1");
  if (outcome.out.find("is missing") != std::string::npos) GTEST_SKIP() << outcome.out;
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json result = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << outcome.out;
  EXPECT_TRUE(result["digests_identical"].get<bool>());
  ASSERT_EQ(result["ways"].size(), 4u);
  for (const json& way : result["ways"]) EXPECT_GT(way["ms"].get<double>(), 0) << way;
  EXPECT_EQ(result["gain"].size(), 1u);
  EXPECT_EQ(result["goals"].size(), 1u);
  EXPECT_EQ(result["runs"], 2);
}

TEST_F(Bench, miniamr_has_the_same_cells_with_each_watermark) {
  const Outcome outcome = bench("miniamr --brief --json 2>/dev/null");
  if (outcome.status != 0) {
    const Outcome why = bench("miniamr --brief --json 2>&1");
    if (why.out.find("is missing") != std::string::npos) GTEST_SKIP() << why.out;
  }
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json result = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << outcome.out;
  EXPECT_TRUE(result["cells_identical"].get<bool>());
  const json& rows = result["watermarks"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["returned_mib"], 0);
  EXPECT_GT(rows[2]["returned_mib"], 0);
  EXPECT_LT(rows[2]["resident_mib"].get<double>(), rows[0]["resident_mib"].get<double>());
  if (result["limit"] != "not available") {
    EXPECT_EQ(rows[0]["within_limit"], "killed");
    EXPECT_EQ(rows[1]["within_limit"], "ends");
    EXPECT_EQ(rows[2]["within_limit"], "ends");
  }
}

TEST_F(Bench, mapped_has_the_same_bits_in_each_mode) {
  const Outcome outcome = bench("mapped --brief --json 2>/dev/null");
  if (outcome.status != 0) {
    const Outcome why = bench("mapped --brief --json 2>&1");
    if (why.out.find("is missing") != std::string::npos) GTEST_SKIP() << why.out;
  }
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json result = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << outcome.out;
  EXPECT_TRUE(result["bits_identical"].get<bool>());
  const std::size_t modes = result["huge_pages"] == "given" ? 3 : 2;
  ASSERT_EQ(result["modes"].size(), 8 * modes);
  EXPECT_EQ(result["times"].size(), 8 * (modes - 1));
  for (const json& row : result["modes"]) {
    EXPECT_EQ(row["demand_pages"].get<int>() > 0, row["mode"] == "demand") << row;
    EXPECT_EQ(row["huge_mib"].get<double>() > 0, row["mode"] == "huge") << row;
    EXPECT_GT(row["grown_mib"].get<double>(), 0) << row;
  }
}

TEST_F(Bench, graph500_has_the_same_levels_in_every_mode) {
  const json result = brief("graph500");
  EXPECT_TRUE(result["levels_identical"].get<bool>());
  const std::size_t huge = result["huge_pages"] == "given" ? 1 : 0;
  const json& rows = result["modes"];
  ASSERT_EQ(rows.size(), 2 * (4 + huge));
  for (const json& row : rows) {
    EXPECT_GT(row["mteps"].get<double>(), 0) << row;
    EXPECT_GT(row["grown_mib"].get<double>(), 0) << row;
    const bool faults = row["by"] == "kernel" && row["mode"] == "demand";
    EXPECT_EQ(row["demand_pages"].get<int>() > 0, faults) << row;
    EXPECT_EQ(row["device_ms"].get<double>() > 0, row["by"] == "kernel") << row;
    EXPECT_EQ(row["huge_mib"].get<double>() > 0, row["mode"] == "huge") << row;
  }
  EXPECT_EQ(result["times"].size(), 4 + 2 * huge);
  EXPECT_EQ(result["goals"].size(), 1u);
}

TEST_F(Bench, applications_has_a_row_for_each_comparison) {
  const json result = brief("applications");
  EXPECT_TRUE(result["answers_identical"].get<bool>());
  std::set<std::string> names;
  for (const json& row : result["rows"]) {
    names.insert(row["program"].get<std::string>());
    EXPECT_GT(row["device_ms"].get<double>(), 0) << row;
    EXPECT_GT(row["direct_ms"].get<double>(), 0) << row;
    EXPECT_EQ(row["rounds"], 2) << row;
    EXPECT_EQ(row["at_most"], 1.15) << row;
    const bool demand = row["program"].get<std::string>().ends_with("demand");
    EXPECT_EQ(row["demand_pages"].get<int>() > 0, demand) << row;
    for (const char* const column : {"pinned", "pinned_low", "page_us", "direct_page_us"}) {
      EXPECT_EQ(row[column].is_number(), demand) << row;
    }
    EXPECT_TRUE(demand || row["verdict"] != "explained") << row;
  }
  EXPECT_EQ(names.size() + result["left_out"].size(), 15u);  // One row of each may be missing.
  EXPECT_TRUE(names.contains("miniamr") && names.contains("comd, demand"));
}

TEST_F(Bench, applications_measures_the_chosen_programs) {
  const Outcome outcome = bench("applications --brief --only '^comd' --runs 3 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json result = json::parse(outcome.out);
  ASSERT_EQ(result["rows"].size(), 2u);
  EXPECT_EQ(result["rows"][0]["goal"], "comd, pinned");
  EXPECT_EQ(result["rows"][1]["rounds"], 3);
  // The control of a row with faults is run although no row of its own was chosen.
  const Outcome alone = bench("applications --brief --only '^comd, demand' --json");
  ASSERT_EQ(alone.status, 0) << alone.out;
  const json rows = json::parse(alone.out)["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_GT(rows[0]["pinned"].get<double>(), 0);
  for (const char* const name : {"applications", "demand"}) {
    const std::string of = std::string("k2k: bench ") + name + ": --only '";
    const Outcome nothing = bench(std::string(name) + " --brief --only nothing 2>&1");
    EXPECT_EQ(nothing.status, 1);
    EXPECT_EQ(nothing.out, of + "nothing' names no program\n");
    const Outcome wrong = bench(std::string(name) + " --brief --only '(' 2>&1");
    EXPECT_EQ(wrong.status, 1);
    EXPECT_EQ(wrong.out, of + "(' is no regular expression\n");
  }
}

TEST_F(Bench, demand_has_memory_over_time_and_the_parts_of_the_time) {
  const json result = brief("demand");
  EXPECT_TRUE(result["answers_identical"].get<bool>());
  ASSERT_EQ(result["programs"].size(), 5u);
  for (const json& row : result["programs"]) {
    EXPECT_GT(row["seen"].get<double>(), 0) << row;
    for (const char* const mode : {"demand", "pinned"}) {
      EXPECT_GT(row[std::string(mode) + "_ms"].get<double>(), 0) << row;
      EXPECT_GT(row[std::string(mode) + "_device"].get<double>(), 0) << row;
      EXPECT_GT(row[std::string(mode) + "_host"].get<double>(), 0) << row;
    }
  }
  for (const char* const program : {"bpt", "xsbench", "graph500", "comd"}) {
    const json& figure = result[std::string("memory_") + program];
    ASSERT_EQ(figure["series"].size(), 4u) << program;
    const json& cached = figure["series"]["pinned, page cache"]["median"];
    ASSERT_EQ(cached.size(), 13u);
    EXPECT_GT(cached.back().get<double>(), 0) << "read through the page cache";
    EXPECT_GT(figure["series"]["pinned, process"]["median"].back().get<double>(), 0);
  }
}

TEST_F(Bench, memcached_has_a_row_for_each_server) {
  const json result = brief("memcached");
  ASSERT_GE(result["servers"].size(), 3u);
  for (const json& server : result["servers"]) {
    EXPECT_GT(server["requests_per_s"].get<double>(), 0) << server;
    EXPECT_GE(server["p99_us"].get<double>(), server["p50_us"].get<double>()) << server;
    for (const char* const deviation : {"sd", "p50_sd", "p99_sd"}) {
      EXPECT_GE(server[deviation].get<double>(), 0) << server;
    }
  }
  EXPECT_EQ(result["servers"].back()["server"], "kernel");
  EXPECT_EQ(result["goals"].size(), 2u);
  EXPECT_EQ(result["runs"], 2);
  // The steps from threads to the kernel multiply to the whole.
  const json& chain = result["chain"];
  ASSERT_EQ(chain.size(), 4u);
  double product = 1;
  for (std::size_t step = 0; step < 3; ++step) product *= chain[step]["seen"].get<double>();
  EXPECT_NEAR(product / chain[3]["seen"].get<double>(), 1, 0.02) << chain.dump();
  // Rate, p50 and p99 of the kernel beside each other server.
  ASSERT_EQ(result["beside"].size(), 3 * (result["servers"].size() - 1));
  for (const json& row : result["beside"]) {
    EXPECT_GT(row["seen"].get<double>(), 0) << row;
    EXPECT_EQ(row["rounds"], 2) << row;
  }
}

TEST_F(Bench, memcached_makes_as_many_runs_as_wanted) {
  const Outcome outcome = bench("memcached --brief --runs 3 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["runs"], 3);
  EXPECT_EQ(result["beside"][0]["rounds"], 3);
  EXPECT_EQ(result["goals"][0]["rounds"], 3);
}

TEST_F(Bench, refuses_numbers_of_runs_that_give_no_interval_and_benchmarks_without_them) {
  for (const char* const wrong : {"1", "0", "-2", "1001", "many"}) {
    EXPECT_EQ(bench(std::string("memcached --brief --runs ") + wrong + " 2>&1").status, 2) << wrong;
  }
  const Outcome outcome = bench("pread --runs 3 2>&1");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "k2k: bench pread: has no --runs; leave it out\n");
}

TEST_F(Bench, atomics_change_no_host_visible_word_by_read_modify_write) {
  // The benchmark refuses to measure contention where other programs hold all cores but one.
  constexpr int tries_max = 5;
  Outcome outcome = bench("atomics --brief --json 2>&1");
  for (int tries = 1; outcome.status == 1 && tries < tries_max; ++tries) {
    ASSERT_NE(outcome.out.find("no second core to spare"), std::string::npos) << outcome.out;
    outcome = bench("atomics --brief --json 2>&1");
  }
  if (outcome.status == 1) GTEST_SKIP() << outcome.out;
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json operations = json::parse(outcome.out)["operations"];
  ASSERT_EQ(operations.size(), 6u);
  for (const json& row : operations) {
    const bool host_visible = row["memory"] == "host-visible";
    for (const char* key : {"compare_swap_ns", "swap_ns", "add_ns", "add_sd_ns"}) {
      EXPECT_EQ(row[key].is_null(), host_visible) << row;
    }
    EXPECT_GT(row["atomic_load_ns"].get<double>(), 0) << row;
    EXPECT_GE(row["atomic_load_sd_ns"].get<double>(), 0) << row;
  }
}

TEST_F(Bench, faults_compares_handlers_and_splits_the_latency) {
  const json result = brief("faults");
  const std::vector<std::string> manners = {"zeros", "copy", "in place", "reader thread", "native"};
  for (const char* figure : {"latency_p50", "latency_p99", "throughput"}) {
    expect_figure(result[figure], manners);
  }
  for (const char* figure : {"split_zeros", "split_copy"}) {
    expect_figure(result[figure],
                  {"initialisation", "scheduling", "processing", "completion", "signal"});
  }
  EXPECT_GT(result["request_to_native"].get<double>(), 0);
  const json& modes = result["reader_modes_us"];
  EXPECT_GT(modes["same core"].get<double>(), 0) << modes;
  EXPECT_EQ(modes["another core"].is_null(), std::thread::hardware_concurrency() < 2) << modes;
}

TEST_F(Bench, fault_scale_tells_waiting_from_work_for_each_size_of_pages) {
  const json result = brief("fault_scale");
  std::set<std::tuple<int, int, int>> cells;
  for (const json& row : result["cells"]) {
    cells.emplace(row["units"].get<int>(), row["at_a_time"].get<int>(), row["page_kib"].get<int>());
    const double faults = row["faults"].get<double>();
    EXPECT_EQ(faults * row["page_kib"].get<double>(), 2.0 * 1'024 * 4) << row;
    // No two work-items touch the same page.
    EXPECT_EQ(row["requests"].get<double>(), faults) << row;
    double parts = 0;
    for (const char* part :
         {"signal_us", "initialise_us", "before_us", "handler_us", "batch_us", "after_us"}) {
      parts += row[part].get<double>();
    }
    const double latency = row["latency_us"].get<double>();
    EXPECT_NEAR(parts, latency, 0.02 * latency) << row;    // Each is rounded.
    EXPECT_GE(row["handler_us"].get<double>(), 0) << row;  // Of a crowded core, nearly nothing.
    EXPECT_TRUE(row["at_a_time"] != 1 || row["passed"] == 0.0) << row;
    EXPECT_TRUE(row["at_a_time"] != 64 || row["passed"] > 0.0) << row;
    EXPECT_EQ(row["shares_cores"].get<bool>(),
              row["units"].get<int>() + 1 > result["cores"].get<int>())
        << row;
  }
  for (const int units : {1, 2}) {
    for (const int outstanding : {1, 64}) {
      EXPECT_TRUE(cells.contains({units, outstanding, 4})) << units << ' ' << outstanding;
    }
    EXPECT_TRUE(cells.contains({units, 1, 2'048})) << units;
  }
  EXPECT_FALSE(result["queueing"].empty());
  for (const json& row : result["queueing"]) {
    double shares = 0;
    double size = 0;
    for (const char* part : {"signal", "before", "handler", "batch", "after"}) {
      shares += row[part].get<double>();
      size += std::abs(row[part].get<double>());
    }
    EXPECT_NEAR(shares, 1, 0.02 * size) << row;  // Each is rounded.
  }
}

TEST_F(Bench, fault_scale_counts_the_requests_of_lanes_that_touch_a_page_together) {
  const json together = brief("fault_scale")["lanes_together"];
  EXPECT_EQ(together["touches"], 64 * together["pages"].get<int>()) << together;
  EXPECT_EQ(together["requests"], together["pages"]) << together;
}

TEST_F(Bench, faults_splits_discards_by_cores_and_pages) {
  const json rows = brief("faults")["discards"];
  ASSERT_GE(rows.size(), 3u);
  std::set<std::pair<int, int>> places;
  for (const json& row : rows) {
    places.emplace(row["cores"].get<int>(), row["pages"].get<int>());
    EXPECT_EQ(row["discards"], 40) << row;  // Two rounds of 20: each was counted by the region.
    EXPECT_GT(row["unmap_ns"].get<double>(), 0) << row;
    EXPECT_GT(row["initialise_ns"].get<double>(), 0) << row;
    EXPECT_GT(row["total_ns"].get<double>(), row["initialise_ns"].get<double>()) << row;
    EXPECT_TRUE(row["cores"] != 1 || row["remote_ns"] == 0.0) << row;
    EXPECT_LE(row["sum_low"], row["sum_to_total"]) << row;
    EXPECT_LE(row["sum_to_total"], row["sum_high"]) << row;
    const std::string near = row["within_5_percent"];
    EXPECT_TRUE(near == "yes" || near == "no" || near == "cannot tell") << row;
  }
  EXPECT_EQ(places.size(), rows.size());
  for (const int pages : {1, 16, 256}) EXPECT_TRUE(places.contains({1, pages})) << pages;
}

TEST_F(Bench, prints_a_figure_as_a_table_for_people) {
  const Outcome outcome = bench("ordering --brief");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("permutations before a write, times"), std::string::npos);
  EXPECT_NE(outcome.out.find("weak-non-block"), std::string::npos);
  EXPECT_EQ(outcome.out.find('{'), outcome.out.find("{\"strong-non-block\""));
}

TEST_F(Bench, a_goal_that_is_missed_is_the_exit_status) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "two cores are needed";
  ::setenv("K2K_SERVER_COALESCE_WINDOW_US", "1", 1);  // With a window, no call reaches the floor.
  const Outcome outcome = bench("roundtrip --json 2>&1");
  ::unsetenv("K2K_SERVER_COALESCE_WINDOW_US");
  EXPECT_EQ(outcome.status, 1);
  std::istringstream lines(outcome.out);
  std::string told;
  json result;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('{')) {
      result = json::parse(line, nullptr, false);
    } else {
      told += line + '\n';
    }
  }
  ASSERT_TRUE(result.is_object()) << outcome.out;
  EXPECT_EQ(result["goals"][0]["verdict"], "missed");
  std::ostringstream goals;  // In the form of the list.
  for (const json& goal : result["goals"]) {
    goals << (goal == result["goals"][0] ? "must reach: " : "; ") << goal["goal"].get<std::string>()
          << " <= " << goal["at_most"].get<double>();
  }
  EXPECT_NE(bench("").out.find(goals.str() + '\n'), std::string::npos) << goals.str();
  EXPECT_TRUE(told.starts_with("k2k: bench roundtrip: ")) << told;
  EXPECT_TRUE(told.ends_with(" of 3 goals missed: see the column \"verdict\"\n")) << told;
}

TEST_F(Bench, lists_goals_by_kind) {
  const std::string listed = bench("").out;
  for (const char* text :
       {"\npread        How much of a core's cached pread() throughput reaches device code?\n"
        "             must reach: device / direct >= ",
        "\n             not judged: polling, p50 in us <= ",
        "\n             expected: thesis: work-items worst, "}) {
    EXPECT_NE(listed.find(text), std::string::npos) << listed;
  }
}

TEST_F(Bench, throughput_refuses_one_core_at_once) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  const Outcome outcome = bench("throughput 2>&1");
  EXPECT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out,
            "k2k: bench throughput: the floor is lines handed over between two cores, and this "
            "process may use only one (see taskset -p)\n");
}

TEST_F(Bench, refuses_brief_where_there_is_only_one_size) {
  const Outcome outcome = bench("pread --brief 2>&1");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "k2k: bench pread: has no --brief; leave it out\n");
}

// Does the current folder's file system have O_DIRECT?
bool has_direct() {
  std::string path = "k2k-bench-test-XXXXXX";
  const int made = ::mkstemp(path.data());
  const int direct = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  ::unlink(path.c_str());
  if (made >= 0) ::close(made);
  if (direct >= 0) ::close(direct);
  return direct >= 0;
}

TEST_F(Bench, reads_are_compared_with_the_better_of_page_cache_and_direct_transfers) {
  if (!has_direct()) GTEST_SKIP() << "no direct transfers in this folder";
  ::setenv("TMPDIR", ".", 1);
  const json result = brief("reads");
  ::unsetenv("TMPDIR");
  EXPECT_GT(result["model"]["direct_gbs"].get<double>(), 0);
  ASSERT_GE(result["rows"].size(), 3u);
  for (const json& row : result["rows"]) {
    EXPECT_GT(row["buffered_gbs"].get<double>(), 0);
    EXPECT_GT(row["ours_gbs"].get<double>(), 0);
    EXPECT_LE(row["low"].get<double>(), row["ratio"].get<double>());
    EXPECT_LE(row["ratio"].get<double>(), row["high"].get<double>());
    EXPECT_EQ(row["rounds"], 2);
    if (row["target"] == 0) {
      EXPECT_TRUE(row["verdict"].is_null());
    } else {
      EXPECT_TRUE(row["verdict"] == "met" || row["verdict"] == "missed" ||
                  row["verdict"] == "cannot tell");
    }
    EXPECT_TRUE(row["against"] == "buffered" || row["against"] == "direct");
  }
  EXPECT_EQ(result["fall_backs"], 0);
}

TEST_F(Bench, writes_past_the_page_cache_are_compared_with_others_and_leave_nothing_there) {
  if (!has_direct()) GTEST_SKIP() << "no direct transfers in this folder";
  ::setenv("TMPDIR", ".", 1);
  const json result = brief("writes");
  ::unsetenv("TMPDIR");
  ASSERT_EQ(result["rows"].size(), 6u);
  for (const json& row : result["rows"]) {
    EXPECT_GT(row["default_us"].get<double>(), 0);
    EXPECT_GT(row["exclusive_us"].get<double>(), 0);
    EXPECT_GT(row["cpu_ratio"].get<double>(), 0);
    EXPECT_LE(row["low"].get<double>(), row["high"].get<double>());
    EXPECT_EQ(row["cached_exclusive_mib"].get<double>(), 0);
  }
  EXPECT_EQ(result["writes_direct"], result["writes"]);
}

TEST_F(Bench, reads_measures_the_chosen_cells) {
  if (!has_direct()) GTEST_SKIP() << "no direct transfers in this folder";
  ::setenv("TMPDIR", ".", 1);
  const json result = brief("reads --only 'random 512 KiB, 50 %.*1 thread'");
  const Outcome none = bench("reads --brief --only nothing 2>&1");
  const Outcome broken = bench("reads --brief --only '(' 2>&1");
  ::unsetenv("TMPDIR");
  ASSERT_EQ(result["rows"].size(), 1u);
  EXPECT_EQ(result["rows"][0]["block_kib"], 512);
  EXPECT_EQ(result["rows"][0]["residency"], 50);
  EXPECT_EQ(result["rows"][0]["threads"], 1);
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.out,
            "k2k: bench reads: --only nothing: no cell has such a name; one is 'random 2 KiB, 0 % "
            "in 128 KiB, 1 thread'\n");
  EXPECT_EQ(broken.status, 1);
  EXPECT_TRUE(broken.out.starts_with("k2k: bench reads: --only (: no regular expression: "))
      << broken.out;
}

TEST_F(Bench, refuses_the_option_only_for_benchmarks_without_cells) {
  const Outcome outcome = bench("pread --only x 2>&1");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "k2k: bench pread: has no --only; leave it out\n");
}

TEST_F(Bench, model_prints_its_error_for_requests_of_each_kind) {
  if (!has_direct()) GTEST_SKIP() << "no direct transfers in this folder";
  ::setenv("TMPDIR", ".", 1);
  const Outcome outcome = bench("model --brief --json");
  ::unsetenv("TMPDIR");
  if (outcome.status != 0) GTEST_SKIP() << "cannot calibrate here: " << outcome.out;
  const json result = json::parse(outcome.out, nullptr, false);
  EXPECT_GT(result["model"]["direct_gbs"].get<double>(), 0);
  ASSERT_EQ(result["rows"].size(), 5u);
  std::uint64_t requests = 0;
  for (const json& row : result["rows"]) {
    const bool all = row["requests_are"].get<std::string>().starts_with("all");
    if (!all) requests += row["requests"].get<std::uint64_t>();
    if (row["requests"] == 0) continue;
    EXPECT_GT(row["mean_error_percent"].get<double>(), 0);
    EXPECT_LE(row["median_error_percent"].get<double>(), row["p95_error_percent"].get<double>());
  }
  EXPECT_EQ(result["rows"][0]["requests"], requests);
}

}  // namespace
}  // namespace k2k::end_to_end::bench_test
