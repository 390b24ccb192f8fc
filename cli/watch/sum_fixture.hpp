#pragma once
// The test of a report's classes: is their sum the whole time?
//
// Threading: pure functions.

#include <cmath>

#include "cli/watch/report.hpp"

namespace k2k::watch {

// By how much the sum of the classes differs from the total of /proc/stat, as a fraction. Where
// /proc/stat itself is wrong by more than 2 % (an emulated machine loses most of its ticks), the
// difference from the clock.
inline double error_of_sum(const Report& report) {
  if (report.wall_s() <= 0) return 1;
  const double wrong = std::abs(report.classes.total_s / report.wall_s() - 1);
  if (wrong <= 0.02) return std::abs(report.classes.covered() - 1);
  return std::abs(report.classes.sum_s() / report.wall_s() - 1);
}

}  // namespace k2k::watch
