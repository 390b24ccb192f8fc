#pragma once
// A goal (goal_table.hpp) as a row of a benchmark's result, judged by bench/verdict.hpp, and the
// number of missed goals, which sets the exit status of `k2k bench`.
//
// Threading: pure functions.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/command/goal_table.hpp"

namespace k2k::bench {

// `rounds` holds one value per round, at least two, each above 0.
nlohmann::ordered_json goal_row(Goal goal, const std::vector<double>& rounds);

// A ratio that no goal is set for, over rounds as above: told and not judged.
nlohmann::ordered_json ratio_row(const char* name, const std::vector<double>& rounds);

// A goal that has no verdict, because its figure differs from machine to machine: what this run
// saw, and whether it reached the goal. It sets no exit status.
nlohmann::ordered_json unjudged_row(Goal goal, double seen);

struct Goals {
  std::size_t judged = 0;
  std::size_t missed = 0;  // Without the goals that cannot be reached on this machine
                           // (`out_of_reach`).
};

// Counts every `verdict` of a result at any depth. A null verdict promises nothing.
Goals goals_of(const nlohmann::ordered_json& result);

}  // namespace k2k::bench
