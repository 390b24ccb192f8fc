// Goal: k2k lab escapes prints a row for each attempt, and refuses impossible options.
// Method: runs the binary named by K2K_CLI.

#include <cstdlib>
#include <set>
#include <string>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::escapes_test {
namespace {

using k2k::end_to_end::Outcome;
using k2k::end_to_end::Program;
using nlohmann::json;

class EscapesLab : public Program {};

TEST_F(EscapesLab, prints_each_attempt_with_its_verdict) {
  const Outcome outcome = run("lab escapes --seconds 0.2 --rounds 2 --cap 20% --json 2>&1");
  if (outcome.out.find("has no direct reads") != std::string::npos) GTEST_SKIP() << outcome.out;
  if (outcome.out.find("has a host limit") != std::string::npos) GTEST_SKIP() << outcome.out;
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  const json object = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(object.is_object()) << outcome.out;
  std::set<std::string> names;
  std::set<std::string> refused;
  for (const json& row : object["rows"]) {
    names.insert(row["attempt"]);
    EXPECT_EQ(row["cap"], 0.2);
    EXPECT_EQ(row["rounds"], 2);
    EXPECT_LE(row.value("low", 2.0), row.value("machine", -1.0)) << row;
    EXPECT_GE(row.value("high", -1.0), row.value("machine", 2.0)) << row;
    if (row["verdict"] == "refused") refused.insert(row["attempt"]);
    EXPECT_GT(row.value("charged", -1.0), 0) << row;
  }
  EXPECT_EQ(names.size(), 10u) << outcome.out;
  EXPECT_EQ(refused, (std::set<std::string>{"fork", "io_uring"})) << outcome.out;
}

TEST_F(EscapesLab, refuses_impossible_caps_and_times) {
  for (const std::string seconds : {"0.1", "61", "long", "nan"}) {
    const Outcome outcome = run("lab escapes --seconds " + seconds + " 2>&1");
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out,
              "k2k: lab escapes: --seconds is '" + seconds + "'; permitted are 0.2 to 60\n");
  }
  EXPECT_EQ(run("lab escapes --rounds 1 2>&1").out,
            "k2k: lab escapes: --rounds is '1'; permitted are 2 to 100: fewer give no interval\n");
  EXPECT_EQ(run("lab escapes --rounds many 2>&1").out,
            "k2k: lab escapes: --rounds is 'many'; permitted are 1 to 100\n");
  EXPECT_EQ(run("lab escapes --cap much 2>&1").status, 2);
  EXPECT_EQ(run("lab escapes --cap 0.15% 2>&1").out,
            "k2k: lab escapes: --cap is 0.15 %; on real threads it is in steps of 0.1 %\n");
  ASSERT_EQ(::setenv("TMPDIR", "/nowhere", 1), 0);
  const Outcome nowhere = run("lab escapes --seconds 0.2 2>&1");
  ::unsetenv("TMPDIR");
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_EQ(
      nowhere.out,
      "k2k: lab escapes: dirty pages: cannot make a file in '/nowhere'; set TMPDIR to another "
      "folder: No such file or directory\n");
}

}  // namespace
}  // namespace k2k::end_to_end::escapes_test
