// Goal: k2k lab translation measures this machine, simulates the thesis' one, judges the thesis'
// statements, writes a page, and refuses what it cannot do with one line. Method: runs the binary
// named by K2K_CLI.

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::translation_test {
namespace {

using nlohmann::json;

class TranslationLab : public Program {};

TEST_F(TranslationLab, simulates_and_ends_with_the_verdicts) {
  const Outcome people = run("lab translation --quick --simulate --rounds 2 2>&1");
  EXPECT_EQ(people.status, 0) << people.out;
  const std::size_t last = people.out.rfind('\n', people.out.size() - 2);
  EXPECT_EQ(people.out.compare(last + 1, 10, "verdicts: "), 0) << people.out;
  EXPECT_NE(people.out.find("Simulated: the thesis' machine"), std::string::npos);
  EXPECT_EQ(people.out.find("Measured on this machine"), std::string::npos);
}

TEST_F(TranslationLab, measures_this_machine_and_writes_a_page) {
  const std::string page = testing::TempDir() + "k2k_translation_" + std::to_string(::getpid());
  const Outcome outcome =
      run("lab translation --quick --json --memory 16 --rounds 2 --html '" + page + "'");
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
  for (const char* const table : {"levels", "points", "chains", "at_once", "strides", "faults",
                                  "shootdowns", "latency", "programs", "statements"}) {
    EXPECT_TRUE(tables.count(table) == 1) << table;
  }
  std::ifstream file(page);
  const std::string html{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(html.find("The thesis' statements beside ours"), std::string::npos);
  EXPECT_EQ(html.substr(html.size() - 8), "</html>\n");
  ::unlink(page.c_str());
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
  const Outcome nowhere =
      run("lab translation --quick --simulate --rounds 2 --html /nowhere/page.html 2>&1");
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_EQ(nowhere.out,
            "k2k: lab translation: cannot write /nowhere/page.html: No such file or directory; "
            "name another file with --html\n");
}

}  // namespace
}  // namespace k2k::end_to_end::translation_test
