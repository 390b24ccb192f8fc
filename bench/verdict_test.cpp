// Goal: a verdict claims no more than its interval supports, and agrees with the verdict of the
// Python code (tools/devtool).

#include "bench/verdict.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace k2k::bench {
namespace {

using nlohmann::json;

json cases() {
  const char* const root = std::getenv("K2K_SOURCE_DIR");
  if (root == nullptr) return json::object();
  std::ifstream file(std::string(root) + "/bench/verdicts.json");
  return json::parse(file, nullptr, false);
}

TEST(Verdict, is_as_in_the_shared_cases) {
  const json judgements = cases()["judgements"];
  if (judgements.empty()) GTEST_SKIP() << "K2K_SOURCE_DIR names no sources";
  for (const json& one : judgements) {
    const Interval seen{one["low"], 1, one["high"], one["rounds"]};
    const Better better = one["better"] == "higher" ? Better::higher : Better::lower;
    const Judgement judgement = judge(seen, one["target"], better);
    EXPECT_EQ(name_of(judgement.verdict), one["verdict"].get<std::string>()) << one;
    json more_rounds;
    if (judgement.more_rounds) more_rounds = *judgement.more_rounds;
    EXPECT_EQ(more_rounds, one["more_rounds"]) << one;
  }
}

TEST(Verdict, comes_from_the_intervals_of_the_shared_cases) {
  const json intervals = cases()["intervals"];
  if (intervals.empty()) GTEST_SKIP() << "K2K_SOURCE_DIR names no sources";
  for (const json& one : intervals) {
    const auto ratios = one["ratios"].get<std::vector<double>>();
    const Interval seen = interval_of(ratios);
    for (const auto& [key, value] :
         {std::pair{"low", seen.low}, std::pair{"mean", seen.mean}, std::pair{"high", seen.high}}) {
      EXPECT_NEAR(value / one[key].get<double>(), 1, 1e-12) << key << " of " << one;
    }
    EXPECT_EQ(seen.rounds, ratios.size());
  }
}

TEST(Verdict, tells_people_how_much_longer_it_would_take) {
  EXPECT_EQ(text_of({Verdict::met, std::nullopt}), "met");
  EXPECT_EQ(text_of({Verdict::cannot_tell, 74}), "cannot tell (74 rounds more)");
  EXPECT_EQ(text_of({Verdict::cannot_tell, std::nullopt}), "cannot tell");
}

}  // namespace
}  // namespace k2k::bench
