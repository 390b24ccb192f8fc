#pragma once
// Intervals of ratios that follow from other intervals, as if these were independent and normal;
// and intervals as JSON.
//
// Threading: pure functions.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/verdict.hpp"
#include "labs/interference/harm/pairs.hpp"

namespace k2k::labs::harm {

// The geometric mean of independent ratios, of which there is at least one.
bench::Interval mean_of(const std::vector<bench::Interval>& all);
bench::Interval quotient_of(const bench::Interval& above, const bench::Interval& below);

// {"low", "mean", "high"}, rounded.
nlohmann::ordered_json json_of(const Estimate& estimate);

}  // namespace k2k::labs::harm
