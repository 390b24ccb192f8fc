#pragma once
// A goal of a benchmark as a row of its result, judged by bench/verdict.hpp, and how many of a
// result's goals are missed: what `k2k bench` ends with.
//
// Threading: pure functions.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/verdict.hpp"

namespace k2k::bench {

// One value a round, two rounds or more, each above 0.
nlohmann::ordered_json goal_row(const std::string& goal, const std::vector<double>& rounds,
                                double target, Better better);

struct Goals {
  std::size_t judged = 0;
  std::size_t missed = 0;  // Without those that nothing could reach here (`out_of_reach`).
};

// Every `verdict` of a result, however deep. One that is null promises nothing.
Goals goals_of(const nlohmann::ordered_json& result);

}  // namespace k2k::bench
