// Goal: each statement of the thesis has a verdict by one rule, the simulated figures behind them
// are those that the model is known to give, and the thesis' own sums are found wrong where they
// are.

#include "labs/translation/statements.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "labs/translation/page.hpp"
#include "labs/translation/study.hpp"

namespace k2k::labs::translation {
namespace {

// Each test is a process of its own, and the figures take seconds: the tests of one computation are
// functions that one test calls.

std::map<std::string, Statement> statements(const SimulatedFigures& figures,
                                            const MeasuredRatios& measured) {
  std::map<std::string, Statement> all;
  const auto statements = statements_of(all_claims().value(), figures_of(figures, measured));
  EXPECT_TRUE(statements) << statements.error().message;
  for (const Statement& one : statements.value()) all.emplace(one.id, one);
  return all;
}

TEST(Statement, is_judged_by_its_whole_interval) {
  const auto verdict = [](double low, double high) {
    Statement one{{.low = 2, .high = 4}};
    one.ours = bench::Interval{low, (low + high) / 2, high, 3};
    return std::string(one.verdict());
  };
  EXPECT_EQ(verdict(2, 4), "reproduced");
  EXPECT_EQ(verdict(2.5, 3), "reproduced");
  EXPECT_EQ(verdict(1, 1.9), "not reproduced");
  EXPECT_EQ(verdict(4.1, 9), "not reproduced");
  EXPECT_EQ(verdict(1.9, 3), "cannot tell");
  EXPECT_EQ(verdict(3, 5), "cannot tell");
  EXPECT_STREQ((Statement{{.low = 2, .high = 4}}).verdict(), "not measurable here");
}

void expect_a_figure_each(const SimulatedFigures& figures) {
  for (const auto& [id, one] : statements(figures, {})) {
    if (one.source == "measured") continue;
    ASSERT_TRUE(one.ours) << id;
    EXPECT_LE(one.ours->low, one.ours->high) << id;
    EXPECT_LE(one.low, one.high) << id;
  }
}

void expect_reproduced_what_the_model_must_reproduce(const SimulatedFigures& figures) {
  const auto all = statements(figures, {});
  for (const char* const id :
       {"stride-line", "stride-page", "miss-latency", "miss-25-times", "knee", "bpt-2m",
        "graph500-2m", "graph500-rate", "prefetch-xsbench", "shootdown-one", "shootdown-same",
        "faults-one", "faults-rate", "faults-flat", "faults-wait", "faults-80-times",
        "faults-clock", "invalidate-one", "invalidate-cores"}) {
    EXPECT_STREQ(all.at(id).verdict(), "reproduced") << id;
  }
}

void expect_not_reproduced_where_numbers_contradict_each_other(const SimulatedFigures& figures) {
  const auto all = statements(figures, {});
  EXPECT_STREQ(all.at("shootdown-all").verdict(), "not reproduced");
  EXPECT_DOUBLE_EQ(all.at("shootdown-all").ours->mean, 4'508);
  EXPECT_STREQ(all.at("faults-little").verdict(), "not reproduced");
  EXPECT_STREQ(all.at("invalidate-all").verdict(), "not reproduced");
  EXPECT_STREQ(all.at("stride-page-prefetched").verdict(), "not reproduced");
  EXPECT_DOUBLE_EQ(all.at("stride-page-prefetched").ours->mean, 1'250);
}

void expect_nothing_of_this_machine_without_its_figures(const SimulatedFigures& figures) {
  const auto without = statements(
      figures, {.no_page_gain = "none here", .no_shootdown = "one core", .no_quota = "no cgroup"});
  EXPECT_STREQ(without.at("larger-pages").verdict(), "not measurable here");
  EXPECT_EQ(without.at("larger-pages").note, "none here");
  EXPECT_EQ(without.at("shootdown-cores").note, "one core");
  EXPECT_STREQ(without.at("faults-scale").verdict(), "not measurable here");
  EXPECT_STREQ(without.at("faults-quota").verdict(), "not measurable here");
  EXPECT_EQ(without.at("faults-quota").note, "no cgroup");
  const auto with = statements(figures, {.page_gain = {1.5, 1.52, 1.49},
                                         .shootdown_ns = {900, 910, 905},
                                         .slow_clock = {2.0, 2.05, 1.98}});
  EXPECT_STREQ(with.at("faults-quota").verdict(), "reproduced");
  EXPECT_STREQ(with.at("larger-pages").verdict(), "reproduced");
  EXPECT_STREQ(with.at("shootdown-cores").verdict(), "not reproduced");
}

TEST(Statement, has_the_verdict_that_the_figures_give) {
  const SimulatedFigures figures = simulated_figures({.rounds = 3});
  expect_a_figure_each(figures);
  expect_reproduced_what_the_model_must_reproduce(figures);
  expect_not_reproduced_where_numbers_contradict_each_other(figures);
  expect_nothing_of_this_machine_without_its_figures(figures);
}

// A program whose runs take and miss what is given here, in two rounds.
void add_runs(SimulatedFigures& figures, const char* program, double gain, double rate,
              double slowdown) {
  for (const bool sorted : {true, false}) {
    for (const auto& [page_bytes, prefetch] :
         {std::pair{small_page, 8u}, {small_page, 1u}, {large_page, 1u}, {huge_page, 1u}}) {
      ProgramRun run{program, sorted, page_bytes, prefetch, true, 1, {}};
      for (const double noise : {0.99, 1.01}) {
        Counts counts;
        counts.instructions = 1'000'000;
        counts.ns = 1e6 * noise * (page_bytes == small_page ? gain : 1) * (sorted ? 1 : slowdown);
        counts.misses = static_cast<std::uint64_t>(1e3 * rate * (sorted ? 1 : 2) *
                                                   (prefetch == 1 && sorted ? 2 : 1));
        run.rounds.push_back(counts);
      }
      figures.runs.push_back(run);
    }
  }
}

TEST(Order, is_judged_by_the_figures_and_by_nothing_else) {
  const auto ordered = [](double bpt_gain, double graph_rate) {
    SimulatedFigures figures;
    add_runs(figures, "bpt", bpt_gain, 40, 1.25);
    add_runs(figures, "comd", 1.097, 30, 1);
    add_runs(figures, "miniamr", 1.046, 20, 1);
    add_runs(figures, "minife", 1, 20, 1);
    add_runs(figures, "graph500", 1, graph_rate, 1);
    add_runs(figures, "xsbench", 1, 20, 1.06);
    std::map<std::string, std::string> verdicts;
    const OurFigures order = figures_of_order(figures);
    for (const Claim& claim : all_claims().value()) {
      if (!order.contains(claim.id)) continue;
      const Statement one = judged(claim, order.at(claim.id));
      verdicts[one.id] = one.verdict();
      EXPECT_EQ(one.source, "simulated");
      EXPECT_STREQ(one.accesses, "recorded");
    }
    EXPECT_EQ(verdicts.size(), order.size());
    return verdicts;
  };
  const auto thesis_s = ordered(1.119, 10);
  EXPECT_EQ(thesis_s.size(), 12u);
  for (const auto& [id, verdict] : thesis_s) EXPECT_EQ(verdict, "reproduced") << id;
  const auto other = ordered(1, 50);
  EXPECT_EQ(other.at("order-gain-bpt"), "not reproduced");
  EXPECT_EQ(other.at("order-gain-half"), "not reproduced");
  EXPECT_EQ(other.at("order-rate-bpt"), "not reproduced");
  EXPECT_EQ(other.at("order-rate-least"), "not reproduced");
  EXPECT_EQ(other.at("order-gain-comd"), "reproduced");
  EXPECT_EQ(other.at("order-keys-bpt"), "reproduced");
  const auto equal = ordered(1.097, 40);
  EXPECT_EQ(equal.at("order-gain-bpt"), "not reproduced") << "equal programs have no order";
  EXPECT_EQ(equal.at("order-rate-bpt"), "not reproduced");
}

TEST(Order, of_recorded_and_modelled_programs_names_both) {
  SimulatedFigures figures;
  for (const char* const program : {"bpt", "comd", "miniamr", "minife", "graph500", "xsbench"}) {
    add_runs(figures, program, 1, 1, 1);
  }
  for (ProgramRun& run : figures.runs) run.recorded = run.program == "bpt";
  for (const auto& [id, one] : figures_of_order(figures)) {
    EXPECT_STREQ(one.accesses,
                 id == "order-keys-bpt"       ? "recorded"
                 : id == "order-keys-xsbench" ? "modelled"
                 : id == "order-gain-miniamr" || id == "order-gain-comd" || id == "order-prefetch"
                     ? "modelled"
                     : "recorded and modelled")
        << id;
  }
}

TEST(Knee, follows_the_walkers) {
  for (const std::uint32_t walkers : {4u, 8u, 16u, 32u}) {
    EXPECT_EQ(knee_of(latency_by_items(walkers)), walkers);
  }
  EXPECT_EQ(knee_of(latency_by_items(64)), 64u) << "without a queue there is no step";
}

void expect_nothing_measured(const Rows& rows) {
  std::set<std::string> tables;
  for (const auto& row : rows) {
    tables.insert(row["table"].get<std::string>());
    EXPECT_NE(row["source"], row["table"] == "statements" ? "thesis" : "measured") << row;
  }
  EXPECT_EQ(tables, (std::set<std::string>{"latency", "strides", "programs", "flushes",
                                           "device_faults", "invalidations", "statements"}));
  EXPECT_EQ(rows_of(rows, "device_faults").size(), 7u);
  EXPECT_EQ(rows_of(rows, "invalidations").size(), 10u);
  EXPECT_EQ(rows_of(rows, "flushes").size(), 6u);
  for (const auto& row : rows_of(rows, "flushes")) {
    EXPECT_GE(row["misses"], 0.99) << row;
    EXPECT_GE(row["time"], 0.99) << row;
  }
  EXPECT_EQ(rows_of(rows, "latency").size(), 64u);
  EXPECT_EQ(rows_of(rows, "programs").size(), 32u) << "8 programs and orders, 4 settings";
  std::size_t sum = 0;
  const nlohmann::ordered_json counts = verdicts_of(rows);
  for (const auto& [verdict, count] : counts.items()) sum += count.get<std::size_t>();
  EXPECT_EQ(sum, rows_of(rows, "statements").size());
}

void expect_a_page_with_each_statement(const Rows& rows) {
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

TEST(Study, marks_what_is_simulated_measures_nothing_when_asked_and_has_a_page) {
  std::size_t steps = 0;
  const Result<Rows> rows =
      run_study({.simulated_only = true, .rounds = 2}, [&](const char*) { ++steps; });
  ASSERT_TRUE(rows);
  EXPECT_LE(steps, steps_of_study);
  expect_nothing_measured(rows.value());
  expect_a_page_with_each_statement(rows.value());
}

}  // namespace
}  // namespace k2k::labs::translation
