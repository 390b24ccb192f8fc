#pragma once
// Intervals of ratios that follow from other intervals, as if these were independent and normal.
//
// Threading: pure functions.

#include <vector>

#include "bench/verdict.hpp"

namespace k2k::labs::harm {

// The geometric mean of independent ratios, of which there is at least one.
bench::Interval mean_of(const std::vector<bench::Interval>& all);
bench::Interval quotient_of(const bench::Interval& above, const bench::Interval& below);

}  // namespace k2k::labs::harm
