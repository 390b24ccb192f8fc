#include "bench/command/goal.hpp"

#include <nlohmann/json.hpp>

#include "bench/command/bench.hpp"

namespace k2k::bench {

nlohmann::ordered_json goal_row(Goal goal, const std::vector<double>& rounds) {
  const Interval seen = interval_of(rounds);
  const Judgement judgement = judge(seen, goal->target, goal->better);
  return {{"goal", goal->title},
          {"seen", rounded(seen.mean)},
          {"low", rounded(seen.low)},
          {"high", rounded(seen.high)},
          {"rounds", seen.rounds},
          {goal->better == Better::higher ? "at_least" : "at_most", goal->target},
          {"verdict", name_of(judgement.verdict)}};
}

nlohmann::ordered_json ratio_row(const char* name, const std::vector<double>& rounds) {
  const Interval seen = interval_of(rounds);
  return {{"ratio", name},
          {"seen", rounded(seen.mean)},
          {"low", rounded(seen.low)},
          {"high", rounded(seen.high)},
          {"rounds", seen.rounds}};
}

nlohmann::ordered_json unjudged_row(Goal goal, double seen) {
  const bool higher = goal->better == Better::higher;
  return {{"goal", goal->title},
          {"seen", rounded(seen)},
          {higher ? "at_least" : "at_most", goal->target},
          {"reached", higher ? seen >= goal->target : seen <= goal->target}};
}

Goals goals_of(const nlohmann::ordered_json& result) {
  Goals goals;
  if (!result.is_structured()) return goals;
  if (result.is_object() && result.contains("verdict") && result["verdict"].is_string()) {
    const bool possible = !result.value("out_of_reach", false);
    goals.judged = 1;
    goals.missed = possible && result["verdict"] == name_of(Verdict::missed) ? 1 : 0;
  }
  for (const auto& inner : result) {
    const Goals more = goals_of(inner);
    goals.judged += more.judged;
    goals.missed += more.missed;
  }
  return goals;
}

}  // namespace k2k::bench
