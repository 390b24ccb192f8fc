// Goal: k2k lab translation measures this machine, simulates the thesis' one, judges the thesis'
// statements, writes a page, and refuses what it cannot do with one line; programs are judged by
// accesses that k2k-accesses recorded. Method: runs the binary named by K2K_CLI.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "base/temporary_folder.hpp"
#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::translation_test {
namespace {

using nlohmann::json;

class TranslationLab : public Program {};

TEST_F(TranslationLab, simulates_and_ends_with_the_verdicts) {
  const Outcome people = run("lab translation --quick --simulate --modelled --rounds 2 2>&1");
  EXPECT_EQ(people.status, 0) << people.out;
  const std::size_t last = people.out.rfind('\n', people.out.size() - 2);
  EXPECT_EQ(people.out.compare(last + 1, 10, "verdicts: "), 0) << people.out;
  EXPECT_NE(people.out.find("Simulated: the thesis' machine"), std::string::npos);
  EXPECT_EQ(people.out.find("Measured on this machine"), std::string::npos);
}

TEST_F(TranslationLab, measures_this_machine_and_writes_a_page) {
  const std::string page = testing::TempDir() + "k2k_translation_" + std::to_string(::getpid());
  const Outcome outcome =
      run("lab translation --quick --json --modelled --memory 16 --rounds 2 --html '" + page + "'");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  const json result = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << outcome.out;
  std::size_t judged = 0;
  for (const auto& [verdict, count] : result["verdicts"].items())
    judged += count.get<std::size_t>();
  std::size_t statements = 0;
  std::set<std::string> tables;
  for (const json& row : result["rows"]) {
    tables.insert(row["table"].get<std::string>());
    statements += row["table"] == "statements" ? 1u : 0u;
    EXPECT_TRUE(row["table"] != "programs" || row["source"] == "simulated") << row;
  }
  EXPECT_EQ(judged, statements);
  for (const char* const table :
       {"levels", "points", "chains", "at_once", "strides", "faults", "shootdowns", "latency",
        "programs", "flushes", "device_faults", "invalidations", "statements"}) {
    EXPECT_TRUE(tables.count(table) == 1) << table;
  }
  std::ifstream file(page);
  const std::string html{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(html.find("The thesis' statements beside ours"), std::string::npos);
  EXPECT_EQ(html.substr(html.size() - 8), "</html>\n");
  ::unlink(page.c_str());
}

// A folder of traces, removed at the end.
class RecordedAccesses : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    if (IsSkipped()) return;
    recorder_ =
        (std::filesystem::path(std::getenv("K2K_CLI")).parent_path() / "k2k-accesses").string();
    if (::access(recorder_.c_str(), X_OK) != 0) GTEST_SKIP() << recorder_ << " was not built";
  }
  [[nodiscard]] CommandOutcome record(const std::string& arguments) const {
    return run_command("'" + recorder_ + "' --quick " + arguments + " '" + folder_ + "' 2>&1");
  }
  // The programs whose accesses were recorded, by the lab's rows.
  static std::set<std::string> recorded_in(const json& result) {
    std::set<std::string> names;
    for (const json& row : result["rows"]) {
      if (row["table"] == "programs" && row["accesses"] == "recorded") names.insert(row["program"]);
    }
    return names;
  }

  std::string recorder_;
  const TemporaryFolder made_ = TemporaryFolder::create("k2k-recorded").value();
  const std::string& folder_ = made_.path();
};

TEST_F(RecordedAccesses, of_one_program_replace_its_model) {
  const CommandOutcome made = record("--rounds 2 --program bpt");
  ASSERT_EQ(made.status, 0) << made.out;
  const Outcome outcome =
      run("lab translation --quick --simulate --json --rounds 2 --traces '" + folder_ + "'");
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json result = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << outcome.out;
  EXPECT_EQ(recorded_in(result), std::set<std::string>{"bpt"});
  for (const json& row : result["rows"]) {
    if (row["table"] != "statements") continue;
    const std::string id = row["id"];
    const json expected = id == "bpt-unsorted"       ? json("recorded")
                          : id == "xsbench-unsorted" ? json("modelled")
                          : id == "knee"             ? json(nullptr)
                                                     : row["accesses"];
    EXPECT_EQ(row["accesses"], expected) << id;
  }
}

TEST_F(RecordedAccesses, are_made_by_the_lab_itself) {
  // Thirteen seconds of CPU time: more than run() permits on a busy machine.
  const Outcome outcome =
      run_command("timeout --foreground 600 '" + std::string(std::getenv("K2K_CLI")) +
                  "' lab translation --quick --simulate --json --rounds 2");
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json result = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << outcome.out;
  EXPECT_EQ(recorded_in(result),
            (std::set<std::string>{"bpt", "comd", "graph500", "miniamr", "minife", "xsbench"}));
}

TEST_F(RecordedAccesses, are_equal_for_equal_seeds) {
  ASSERT_EQ(record("--rounds 1 --program minife --program bpt --program miniamr").status, 0);
  const std::string sums = "cd '" + folder_ + "' && sha256sum *.accesses";
  const std::string first = run_command(sums).out;
  ASSERT_EQ(record("--rounds 1 --program minife --program bpt --program miniamr").status, 0);
  EXPECT_EQ(run_command(sums).out, first);
  ASSERT_EQ(record("--rounds 1 --program minife --program bpt --program miniamr --seed 2").status,
            0);
  EXPECT_NE(run_command(sums).out, first);
}

TEST_F(RecordedAccesses, that_are_wrong_are_refused_in_one_line) {
  const auto refused = [&](int status) {
    const Outcome outcome =
        run("lab translation --quick --simulate --traces '" + folder_ + "' 2>&1");
    EXPECT_EQ(outcome.status, status) << outcome.out;
    return outcome.out;
  };
  EXPECT_EQ(refused(1), "k2k: lab translation: " + folder_ +
                            " has no file that ends in .accesses; make them with k2k-accesses\n");
  ASSERT_EQ(record("--rounds 1 --program bpt").status, 0);
  EXPECT_EQ(refused(2),
            "k2k: lab translation: bpt has 1 rounds sorted and 1 unsorted; an interval "
            "needs two at least, as many in both orders: record them anew with "
            "k2k-accesses\n");
  const std::string file = folder_ + "/bpt-sorted-00.accesses";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(refused(2), "k2k: lab translation: " + file +
                            ": its check is wrong: it is cut or damaged; record it anew with "
                            "k2k-accesses\n");
  const CommandOutcome nowhere = run_command("'" + recorder_ + "' /proc/nowhere 2>&1");
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_EQ(nowhere.out.rfind("k2k-accesses: /proc/nowhere: ", 0), 0u) << nowhere.out;
}

TEST_F(TranslationLab, refuses_what_it_cannot_do) {
  const auto refused = [&](const std::string& arguments) {
    const Outcome outcome = run("lab translation --simulate " + arguments + " 2>&1");
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    return outcome.out;
  };
  EXPECT_EQ(refused("--rounds 1"),
            "k2k: lab translation: --rounds is '1'; permitted are 2 to 1000: fewer give no "
            "interval\n");
  EXPECT_EQ(
      refused("--memory 1").rfind("k2k: lab translation: --memory is '1'; permitted are 16 to ", 0),
      0u);
  EXPECT_EQ(refused("--memory many").rfind("k2k: lab translation: --memory is 'many'", 0), 0u);
  EXPECT_EQ(refused("--modelled --traces there"),
            "k2k: lab translation: --modelled replays nothing; leave it or --traces out\n");
  const Outcome nowhere = run(
      "lab translation --quick --simulate --modelled --rounds 2 --html /nowhere/page.html 2>&1");
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_EQ(nowhere.out,
            "k2k: lab translation: cannot write /nowhere/page.html: No such file or directory; "
            "name another file with --html\n");
}

}  // namespace
}  // namespace k2k::end_to_end::translation_test
