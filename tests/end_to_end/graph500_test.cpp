// Goal: k2k-graph500 makes a graph and prints the same levels of its searches in every way and
// mode; it tells wrong inputs in one line, and Ctrl-C ends it. Method: runs the program beside the
// binary named by K2K_CLI.

#include <sys/prctl.h>

#include <nlohmann/json.hpp>

#include "tests/end_to_end/application.hpp"

namespace k2k::end_to_end::graph500_test {
namespace {

using nlohmann::json;

class Graph500 : public Application {
 protected:
  Graph500() : Application("graph500", "graph500") {}
  void SetUp() override {
    Application::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(app("--generate graph --scale 9 --seed 3").status, 0);
  }
  [[nodiscard]] json result(const std::string& arguments) const {
    return json_of("--roots 4 " + arguments);
  }
};

std::vector<std::string> digests_of(const json& result) {
  std::vector<std::string> digests;
  for (const json& one : result["searches"]) digests.push_back(one["digest"]);
  return digests;
}

TEST_F(Graph500, prints_the_levels_of_the_serial_search_in_each_mode) {
  const json serial = result("--by serial graph");
  ASSERT_EQ(serial["searches"].size(), 4u);
  EXPECT_EQ(serial["scale"], 9);
  EXPECT_EQ(serial["vertices"], 512);
  EXPECT_EQ(serial["edges"], 512 * 16);
  EXPECT_EQ(serial["order"], "unsorted");
  EXPECT_EQ(serial["demand_pages"], 0);
  const json demand = result("graph");
  EXPECT_EQ(demand["mode"], "demand");
  EXPECT_EQ(digests_of(demand), digests_of(serial));
  EXPECT_GT(demand["demand_pages"], 0);
  EXPECT_GT(demand["harmonic_mean_teps"], 0.0);
  EXPECT_LE(demand["least_teps"], demand["harmonic_mean_teps"]);
  EXPECT_LE(demand["harmonic_mean_teps"], demand["most_teps"]);
  const json pinned = result("--mode pinned --direction bottom-up --resident graph");
  EXPECT_EQ(digests_of(pinned), digests_of(serial));
  EXPECT_EQ(pinned["demand_pages"], 0);
  EXPECT_GE(pinned["resident"].size(), 6u);
  EXPECT_GE(pinned["resident_most_bytes"], pinned["resident_begin_bytes"]);
}

TEST_F(Graph500, makes_the_same_graph_in_both_orders) {
  ASSERT_EQ(app("--generate sorted --scale 9 --seed 3 --order sorted").status, 0);
  const json sorted = result("--by threads sorted");
  const json unsorted = result("--by threads graph");
  EXPECT_EQ(sorted["order"], "sorted");
  for (std::size_t place = 0; place < 4; ++place) {
    for (const char* const same : {"levels", "vertices", "edges"}) {
      EXPECT_EQ(sorted["searches"][place][same], unsorted["searches"][place][same]);
    }
  }
  ASSERT_EQ(app("--generate again --scale 9 --seed 3").status, 0);
  EXPECT_EQ(in_folder("cmp graph again").status, 0);
}

TEST_F(Graph500, prints_rates_memory_and_faults_for_people) {
  const CommandOutcome outcome = app("--roots 2 graph");
  EXPECT_EQ(outcome.status, 0);
  const std::string levels = outcome.out.substr(0, outcome.out.find('\n') + 1);
  EXPECT_EQ(levels.find("levels "), 0u) << outcome.out;
  EXPECT_EQ(app("--roots 2 --by serial graph").out.find(levels), 0u);
  EXPECT_NE(app("--roots 3 --by serial graph").out.find(levels), 0u);
  for (const char* const part :
       {"\n2 searches, all valid\n", "traversed edges a second (harmonic mean; ",
        " MiB resident before ", " pages on demand, for faults of the kernel; "}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
  }
}

TEST_F(Graph500, says_so_if_linux_gives_no_huge_pages) {
  ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // A child inherits it.
  const CommandOutcome outcome = app("--mode huge --roots 1 graph 2>&1 >/dev/null");
  ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out.find("k2k-graph500: Linux gave no huge page; write madvise to "), 0u)
      << outcome.out;
}

TEST_F(Graph500, tells_wrong_inputs_in_one_line) {
  const struct {
    const char* arguments;
    int status;
    const char* message;
  } cases[] = {
      {"", 2, "no FILE to search; --generate FILE makes one"},
      {"--generate other graph", 2, "--generate makes a file and searches none; leave out FILE"},
      {"none", 1, "none: No such file or directory; name a file that --generate made"},
      {"--root 512 graph", 1, "--root 512 is no vertex of graph, whose last is 511"},
      {"--generate graph", 1,
       "graph: File exists; name a path that does not exist, in a folder that may be written to"},
      {"/bin/sh", 1,
       "/bin/sh: is no graph of k2k-graph500, or its generation did not end: it does not begin "
       "with K2KGRAPH; make the file anew with --generate"},
  };
  for (const auto& each : cases) {
    const CommandOutcome outcome = app(std::string(each.arguments) + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.status, each.status) << each.arguments;
    EXPECT_EQ(outcome.out, std::string("k2k-graph500: ") + each.message + "\n");
  }
  for (const char* const wrong :
       {"--scale 0", "--scale 31", "--edge-factor 0", "--order none", "--by nobody", "--mode cold",
        "--direction left", "--roots 0", "--roots 65", "--root -1", "--seed -1"}) {
    EXPECT_EQ(app(std::string(wrong) + " --generate other 2>/dev/null").status, 2) << wrong;
  }
  EXPECT_NE(in_folder("ls other 2>/dev/null").status, 0) << "a wrong option makes no file";
}

TEST_F(Graph500, names_itself_in_help_and_errors) {
  EXPECT_NE(app("--help").out.find("Usage: k2k-graph500 [OPTIONS] [FILE]"), std::string::npos);
  EXPECT_EQ(app("--seed -1 --generate other 2>&1").out,
            "k2k: --seed: Value -1 is negative; name a number of 0 or more; 'k2k-graph500 --help' "
            "shows the usage\n");
  EXPECT_EQ(app("--fast graph 2>&1").out,
            "k2k: unknown option '--fast'; 'k2k-graph500 --help' lists them\n");
}

TEST_F(Graph500, prints_the_searches_that_ended_before_ctrl_c) {
  ASSERT_EQ(app("--generate long --scale 16").status, 0);
  // The signal comes when the searches have begun: SIGINT is bit 1 of the caught signals. The shell
  // that becomes the program may catch it, too.
  const std::string interrupted = "{ env --default-signal=INT '" + program() +
                                  "' --json long >out 2>err & child=$!; "
                                  "until tr '\\n' ' ' < /proc/$child/status 2>/dev/null "
                                  "| grep -q '^Name:.k2k-graph500 .*SigCgt:.[0-9a-f]*[2367abef] '"
                                  "|| ! kill -0 $child 2>/dev/null; do sleep 0.01; done; "
                                  "kill -INT $child; wait $child; echo $?; }";
  EXPECT_EQ(in_folder(interrupted).out, "130\n");
  const json object = json::parse(in_folder("cat out").out, nullptr, false);
  ASSERT_TRUE(object.is_object());
  EXPECT_EQ(object["interrupted"], true);
  EXPECT_EQ(object["searches_wanted"], 64);
  const std::size_t ended = object["searches"].size();
  EXPECT_LT(ended, 64u);
  EXPECT_EQ(in_folder("cat err").out,
            ended == 0 ? "k2k-graph500: interrupted before a search ended\n"
                       : "k2k-graph500: interrupted after " + std::to_string(ended) +
                             " of 64 searches, whose figures were printed\n");
  EXPECT_EQ(result("long")["interrupted"], false);
}

TEST_F(Graph500, leaves_no_half_file_at_ctrl_c) {
  const CommandOutcome outcome = in_folder("timeout --foreground --preserve-status -s INT 0.3 '" +
                                           program() + "' --generate large --scale 21 2>&1");
  EXPECT_EQ(outcome.status, 130) << outcome.out;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(in_folder("ls large 2>/dev/null").status, 0);
}

}  // namespace
}  // namespace k2k::end_to_end::graph500_test
