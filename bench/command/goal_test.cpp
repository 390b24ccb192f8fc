// Goal: a benchmark fails if and only if a goal is missed.

#include "bench/command/goal.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace k2k::bench {
namespace {

using nlohmann::ordered_json;

TEST(Goals, are_found_at_any_depth) {
  const ordered_json result = {
      {"ratio", 1},
      {"goals", {goal_row({"pread", "device / direct"}, {1.0, 1.01, 0.99})}},
      {"inner", {{"rows", {goal_row({"idle", "futex / bare"}, {3.0, 3.01, 2.99})}}}}};
  EXPECT_EQ(result["goals"][0]["verdict"], "met");
  EXPECT_EQ(result["inner"]["rows"][0]["verdict"], "missed");
  EXPECT_EQ(goals_of(result).judged, 2u);
  EXPECT_EQ(goals_of(result).missed, 1u);
}

TEST(Goals, that_cannot_be_told_are_not_missed) {
  const ordered_json row = goal_row({"idle", "futex / bare"}, {1.0, 3.0});
  EXPECT_EQ(row["verdict"], "cannot tell");
  EXPECT_EQ(row["goal"], "futex / bare");
  EXPECT_EQ(row["at_most"], 2);
  EXPECT_EQ(goals_of({{"rows", {row}}}).missed, 0u);
}

TEST(Goals, that_differ_by_machine_tell_a_miss_and_set_no_exit_status) {
  const ordered_json missed = unjudged_row(Goal("idle", "polling, share of a core"), 0.21);
  EXPECT_EQ(missed.dump(),
            R"({"goal":"polling, share of a core","seen":0.21,"at_most":0.05,"reached":false})");
  EXPECT_EQ(unjudged_row(Goal("idle", "polling, share of a core"), 0.05)["reached"], true);
  EXPECT_EQ(goals_of({{"rows", {missed}}}).judged, 0u);
}

TEST(Goals, out_of_reach_or_without_a_promise_are_not_missed) {
  const ordered_json rows = {{{"verdict", "missed"}, {"out_of_reach", true}},
                             {{"verdict", "missed"}, {"out_of_reach", false}},
                             {{"verdict", nullptr}}};
  EXPECT_EQ(goals_of({{"rows", rows}}).judged, 2u);
  EXPECT_EQ(goals_of({{"rows", rows}}).missed, 1u);
  EXPECT_EQ(goals_of({{"verdicts", {{"missed", 3}}}}).judged, 0u);  // Their number is not a
                                                                    // verdict.
}

}  // namespace
}  // namespace k2k::bench
