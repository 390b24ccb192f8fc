// Goal: a goal is stated in one place. Each row of the table is judged by its benchmark or gives
// the reason why not, and bench/budgets.toml has the same goals. Method: reads the sources and the
// budgets of the folder K2K_SOURCE_DIR.

#include "bench/command/goal_table.hpp"

#include <gtest/gtest.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "base/sources_fixture.hpp"

namespace k2k::bench {
namespace {

class Sources : public SourcesTest {
 protected:
  // The text of a file, without line breaks and the indentation behind them.
  static std::string text_of_file(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string text, line;
    while (std::getline(file, line)) {
      const std::size_t begin = line.find_first_not_of(' ');
      if (begin == std::string::npos) continue;
      if (text.ends_with(',')) text += ' ';
      text += line.substr(begin);
    }
    return text;
  }

  // The texts of the benchmarks' own files.
  [[nodiscard]] std::string benchmarks() const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(root_ / "bench/command")) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".cpp") || name.ends_with("_test.cpp")) continue;
      all += text_of_file(entry.path());
    }
    return all;
  }
};

TEST(GoalTable, has_each_goal_once_and_its_target_can_be_judged) {
  std::set<std::string> seen;
  for (const GoalRow& row : goal_table) {
    const std::string name = std::string(row.benchmark) + ": " + std::string(row.title);
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_TRUE(row.target > 0 || !row.unjudged.empty()) << name;
  }
}

TEST_F(Sources, judge_each_goal_of_the_table_except_the_unjudged_goals) {
  const std::string text = benchmarks();
  ASSERT_FALSE(text.empty());
  for (const GoalRow& row : goal_table) {
    const std::string use =
        "{\"" + std::string(row.benchmark) + "\", \"" + std::string(row.title) + "\"}";
    EXPECT_EQ(text.find(use) != std::string::npos, row.unjudged.empty()) << use;
  }
}

TEST_F(Sources, have_the_same_goals_in_the_budgets) {
  const toml::table budgets = toml::parse_file((root_ / "bench/budgets.toml").string());
  std::size_t compared = 0;
  for (const auto& [name, value] : budgets) {
    const toml::table& budget = *value.as_table();
    std::istringstream command(budget["command"].value_or(std::string()));
    std::string k2k, bench, benchmark;
    command >> k2k >> bench >> benchmark;
    const auto row = std::ranges::find(goal_table, name.str(), &GoalRow::budget);
    EXPECT_EQ(row != std::end(goal_table), k2k == "k2k" && bench == "bench") << name;
    if (row == std::end(goal_table)) continue;
    EXPECT_EQ(row->benchmark, benchmark) << name;
    EXPECT_EQ(row->target, budget["goal"].value_or(0.0)) << name;
    EXPECT_EQ(row->better == Better::higher ? "higher" : "lower",
              budget["better"].value_or(std::string()))
        << name;
    ++compared;
  }
  const auto has_budget = [](const GoalRow& row) { return !row.budget.empty(); };
  EXPECT_EQ(compared, static_cast<std::size_t>(std::ranges::count_if(goal_table, has_budget)));
}

TEST(GoalTable, is_printed_in_the_help) {
  EXPECT_EQ(judged_goals("pread"), "device / direct >= 0.87");
  EXPECT_EQ(unjudged_goals("pread"), "");
  EXPECT_EQ(judged_goals("soak"), "");
  EXPECT_EQ(judged_goals("idle"), "futex / bare <= 2");
  EXPECT_EQ(unjudged_goals("control"),
            "create and end with a socket, us more than without <= 200 (a time or a share of a "
            "core: it differs from machine to machine); its thread while idle, us of CPU time a "
            "second <= 0 (a target of 0 has no ratio)");
}

}  // namespace
}  // namespace k2k::bench
