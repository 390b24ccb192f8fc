// Goal: k2k lab interference measures victims beside a source, keeps what it measured when it is
// stopped, goes on, and refuses what it cannot do with one line. Method: runs the binary named by
// K2K_CLI.

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::interference_test {
namespace {

using nlohmann::json;

std::vector<json> records_of(const std::string& text) {
  std::vector<json> records;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    records.push_back(json::parse(line, nullptr, false));
  }
  return records;
}

class InterferenceLab : public Program {
 protected:
  ~InterferenceLab() override {
    ::unlink(out.c_str());
    ::unlink(page.c_str());
  }
  [[nodiscard]] static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const std::string out = testing::TempDir() + "k2k_lab_" + std::to_string(::getpid()) + ".jsonl";
  const std::string page = testing::TempDir() + "k2k_lab_" + std::to_string(::getpid()) + ".html";
  const std::string small =
      "lab interference single --setting staged --run 0.03 --out '" + out + "' ";
};

TEST_F(InterferenceLab, prints_records_and_ends_with_the_verdicts) {
  const Outcome outcome = run(small + "--pairs 2 --json --html '" + page + "'");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  const std::vector<json> records = records_of(outcome.out);
  ASSERT_GT(records.size(), 2u) << outcome.out;
  EXPECT_EQ(records.front()["kind"], "plan");
  EXPECT_GT(records.front()["machine"]["cores"], 0);
  const json& result = records.back();
  ASSERT_EQ(result["kind"], "result") << outcome.out;
  EXPECT_EQ(result["complete"], true);
  std::size_t verdicts = 0;
  for (const json& count : result["verdicts"]) verdicts += count.get<std::size_t>();
  EXPECT_EQ(verdicts, result["claims"].size()) << "each claim has one";
  // What a machine without sleep states cannot measure, another one can.
  EXPECT_GT(result["verdicts"]["not measured"], 0) << "most settings are not in this study";
  EXPECT_EQ(result["comparisons"].size(), 6u) << "every arm";
  int measured = 0;
  for (const json& one : result["comparisons"]) {
    // A machine without sleep states says so; a hypervisor may disturb every pair.
    if (one["problem"].is_null()) {
      EXPECT_EQ(one["pairs"], 2) << one;
      ++measured;
    } else if (one["comparison"] != "idle") {
      EXPECT_NE(one["problem"].dump().find("hypervisor"), std::string::npos) << one;
    }
  }
  EXPECT_GT(measured, 0);
  EXPECT_LE(result["settings"].size(), 1u) << "one setting, side by side with none";
  EXPECT_EQ(result["auto"].size(), 0u);
  EXPECT_EQ(content(out), outcome.out) << "the file has the same records";
  EXPECT_NE(content(page).find("<svg"), std::string::npos);
}

TEST_F(InterferenceLab, keeps_what_it_measured_when_it_is_stopped_and_goes_on) {
  // A shell lets its background processes ignore SIGINT; both signals stop the lab.
  const Outcome stopped =
      run(small + "--pairs 1000 2>&1 & p=$!; sleep 1.2; kill -TERM $p; wait $p");
  EXPECT_EQ(stopped.status, 130) << stopped.out;
  EXPECT_NE(stopped.out.find("stopped; go on with --out"), std::string::npos) << stopped.out;
  const std::size_t before = records_of(content(out)).size();
  ASSERT_GT(before, 3u) << content(out);
  EXPECT_EQ(records_of(content(out)).back()["complete"], false);
  const Outcome again = run(small + "--pairs 2 --resume --json");
  EXPECT_EQ(again.status, 0) << again.out;
  EXPECT_EQ(records_of(content(out)).back()["complete"], true);
  EXPECT_EQ(records_of(again.out).front()["kind"], "run") << "the plan is there already";
  const Outcome other = run(small + "--pairs 2 --resume --seed 2 2>&1");
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.out.find("repeat its options"), std::string::npos) << other.out;
}

TEST_F(InterferenceLab, goes_on_without_a_victim_that_is_missing_or_crashes) {
  const Outcome outcome =
      run("lab interference single --command 'gone=/nowhere/x' --command 'bad=false' --setting "
          "staged --run 0.03 --pairs 2 2>&1");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("not measured: gone service : there is no program '/nowhere/x'"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("bad failed: exit status 1"), std::string::npos) << outcome.out;
  const Outcome alone = run("lab interference --command 'gone=/nowhere/x' 2>&1");
  EXPECT_EQ(alone.status, 1);
  EXPECT_EQ(alone.out,
            "k2k: lab interference: no victim can run: gone: there is no program '/nowhere/x'\n");
}

TEST_F(InterferenceLab, refuses_mistakes_with_one_line) {
  const auto refused = [&](const std::string& options, const std::string& part, int status = 2) {
    const Outcome outcome = run("lab interference " + options + " 2>&1");
    EXPECT_EQ(outcome.status, status) << outcome.out;
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1) << "one line: " << outcome.out;
  };
  refused("singel", "victim 'singel' does not exist; there are single");
  refused("single --setting fast", "has no word 'fast'");
  refused("single --setting cap=", "has no word 'cap='");
  refused("single --setting default+devices=65", "devices is '65'; permitted are 1 to 64");
  refused("single --run 0", "--run is '0'; permitted are 0.02 to 60 seconds");
  refused("single --pairs 0", "--pairs is '0'");
  refused("single --command x", "--command is 'x'; permitted is NAME=PROGRAM");
  refused("single --resume", "name the file");
  refused("single --resume --out /nowhere/x", "leave --resume out", 1);
  refused("single --run 0.03 --out /nowhere/x", "cannot write /nowhere/x", 1);
  refused("single --run 0.03 --html /nowhere/x", "cannot write /nowhere/x", 1);
  refused("single --run 0.03 --out /dev/full", "cannot write /dev/full: No space left", 1);
}

}  // namespace
}  // namespace k2k::end_to_end::interference_test
