// Goal: each statement of the thesis has a verdict by one rule, the simulated figures behind them
// are those that the model is known to give, and the thesis' own sums are found wrong where they
// are.

#include "labs/translation/statements.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "labs/translation/page.hpp"
#include "labs/translation/study.hpp"

namespace k2k::labs::translation {
namespace {

#if defined(K2K_TSAN)
constexpr bool too_long_here = true;
#else
constexpr bool too_long_here = false;
#endif

const SimulatedFigures& figures() {
  static const SimulatedFigures all = simulated_figures({.rounds = 3});
  return all;
}

const Rows& simulated_rows() {
  static const Rows all = [] {
    std::size_t steps = 0;
    Result<Rows> rows =
        run_study({.simulated_only = true, .rounds = 2}, [&](const char*) { ++steps; });
    EXPECT_TRUE(rows);
    EXPECT_LE(steps, steps_of_study);
    return rows ? std::move(rows).value() : Rows{};
  }();
  return all;
}

std::map<std::string, Statement> statements(const MeasuredRatios& measured) {
  std::map<std::string, Statement> all;
  for (const Statement& one : statements_of(figures(), measured)) {
    EXPECT_TRUE(all.emplace(one.id, one).second) << "two statements " << one.id;
  }
  return all;
}

TEST(Statement, is_judged_by_its_whole_interval) {
  const auto verdict = [](double low, double high) {
    Statement one{"", "", "", "", "", 2, 4};
    one.ours = bench::Interval{low, (low + high) / 2, high, 3};
    return std::string(one.verdict());
  };
  EXPECT_EQ(verdict(2, 4), "reproduced");
  EXPECT_EQ(verdict(2.5, 3), "reproduced");
  EXPECT_EQ(verdict(1, 1.9), "not reproduced");
  EXPECT_EQ(verdict(4.1, 9), "not reproduced");
  EXPECT_EQ(verdict(1.9, 3), "cannot tell");
  EXPECT_EQ(verdict(3, 5), "cannot tell");
  EXPECT_STREQ((Statement{"", "", "", "", "", 2, 4}).verdict(), "not measurable here");
}

TEST(Statement, of_the_simulated_machine_has_a_figure_each) {
  if (too_long_here) GTEST_SKIP() << "a simulation on one thread";
  for (const auto& [id, one] : statements({})) {
    if (std::string(one.source) == "measured") continue;
    ASSERT_TRUE(one.ours) << id;
    EXPECT_LE(one.ours->low, one.ours->high) << id;
    EXPECT_LE(one.low, one.high) << id;
  }
}

TEST(Statement, that_the_model_must_reproduce_is_reproduced) {
  if (too_long_here) GTEST_SKIP() << "a simulation on one thread";
  const auto all = statements({});
  for (const char* const id :
       {"stride-line", "stride-page", "miss-latency", "miss-25-times", "knee", "bpt-2m",
        "graph500-2m", "graph500-rate", "prefetch-xsbench", "shootdown-one", "shootdown-same"}) {
    EXPECT_STREQ(all.at(id).verdict(), "reproduced") << id;
  }
}

TEST(Statement, whose_numbers_contradict_each_other_is_not_reproduced) {
  if (too_long_here) GTEST_SKIP() << "a simulation on one thread";
  const auto all = statements({});
  EXPECT_STREQ(all.at("shootdown-all").verdict(), "not reproduced");
  EXPECT_DOUBLE_EQ(all.at("shootdown-all").ours->mean, 4'508);
  EXPECT_STREQ(all.at("faults-little").verdict(), "not reproduced");
  EXPECT_STREQ(all.at("stride-page-prefetched").verdict(), "not reproduced");
  EXPECT_DOUBLE_EQ(all.at("stride-page-prefetched").ours->mean, 1'250);
}

TEST(Statement, about_this_machine_needs_its_figures) {
  if (too_long_here) GTEST_SKIP() << "a simulation on one thread";
  const auto without = statements({.no_page_gain = "none here", .no_shootdown = "one core"});
  EXPECT_STREQ(without.at("larger-pages").verdict(), "not measurable here");
  EXPECT_EQ(without.at("larger-pages").note, "none here");
  EXPECT_EQ(without.at("shootdown-cores").note, "one core");
  const auto with = statements({.page_gain = {1.5, 1.52, 1.49}, .shootdown_ns = {900, 910, 905}});
  EXPECT_STREQ(with.at("larger-pages").verdict(), "reproduced");
  EXPECT_STREQ(with.at("shootdown-cores").verdict(), "not reproduced");
}

TEST(Knee, follows_the_walkers) {
  for (const std::uint32_t walkers : {4u, 8u, 16u, 32u}) {
    EXPECT_EQ(knee_of(latency_by_items(walkers)), walkers);
  }
  EXPECT_EQ(knee_of(latency_by_items(64)), 64u) << "without a queue there is no step";
}

TEST(Study, marks_what_is_simulated_and_measures_nothing_when_asked) {
  if (too_long_here) GTEST_SKIP() << "a simulation on one thread";
  const Rows& rows = simulated_rows();
  std::set<std::string> tables;
  for (const auto& row : rows) {
    tables.insert(row["table"].get<std::string>());
    EXPECT_NE(row["source"], row["table"] == "statements" ? "thesis" : "measured") << row;
  }
  EXPECT_EQ(tables, (std::set<std::string>{"latency", "strides", "programs", "statements"}));
  EXPECT_EQ(rows_of(rows, "latency").size(), 64u);
  EXPECT_EQ(rows_of(rows, "programs").size(), 32u) << "8 programs and orders, 4 settings";
  std::size_t sum = 0;
  const nlohmann::ordered_json counts = verdicts_of(rows);
  for (const auto& [verdict, count] : counts.items()) sum += count.get<std::size_t>();
  EXPECT_EQ(sum, rows_of(rows, "statements").size());
}

TEST(Page, has_each_statement_and_escapes_what_it_shows) {
  if (too_long_here) GTEST_SKIP() << "a simulation on one thread";
  const Rows& rows = simulated_rows();
  nlohmann::ordered_json result = {
      {"rows", rows}, {"machine_facts", {{"processor", "<b>&"}}}, {"seed", 1}, {"rounds", 2}};
  const std::string page = page_of(result);
  for (const auto& row : rows_of(rows, "statements")) {
    EXPECT_NE(page.find(row["verdict"].get<std::string>()), std::string::npos);
  }
  EXPECT_EQ(page.find("<b>&"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;&amp;"), std::string::npos);
  EXPECT_NE(page.find("class=simulated"), std::string::npos);
  EXPECT_NE(page.find("<polyline"), std::string::npos);
  EXPECT_NE(page.find("Not measured."), std::string::npos) << "no figure of this machine";
}

}  // namespace
}  // namespace k2k::labs::translation
