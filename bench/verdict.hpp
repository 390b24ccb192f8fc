#pragma once
// Did a figure reach its target? One rule for all benchmarks and laboratories.
//
// A figure is a ratio with a 95 % interval. It has met its target if the whole interval reaches the
// target, and missed it if no part of the interval does. Otherwise the run cannot tell, and the
// judgement gives the number of further rounds that could decide. Reports use the same rule
// (tools/devtool/verdict.py); bench/verdicts.json holds cases that both implementations must agree
// on.
//
// Threading: pure functions.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/contract.hpp"

namespace k2k::bench {

enum class Verdict : std::uint8_t { met, missed, cannot_tell };
enum class Better : std::uint8_t { higher, lower };

// The interval of a ratio.
struct Interval {
  double low = 0;
  double mean = 0;  // Geometric mean.
  double high = 0;
  std::size_t rounds = 0;  // Number of rounds.
};

struct Judgement {
  Verdict verdict = Verdict::cannot_tell;
  // If the run cannot tell: the number of further rounds, with the same noise, that would narrow
  // the interval to this side of the target. Empty: more than more_rounds_max.
  std::optional<std::uint64_t> more_rounds;
};

inline constexpr double more_rounds_max = 100'000;

inline const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::met:
      return "met";
    case Verdict::missed:
      return "missed";
    case Verdict::cannot_tell:
      return "cannot tell";
  }
  return "";
}

// For a table: the verdict, and the further rounds that it needs.
inline std::string text_of(const Judgement& judgement) {
  std::string text = name_of(judgement.verdict);
  if (judgement.more_rounds) {
    text += " (" + std::to_string(*judgement.more_rounds) + " rounds more)";
  }
  return text;
}

// The quantile 0.975 of Student's t by degrees of freedom, from 1 on; behind the table the normal
// distribution's, corrected (Abramowitz and Stegun, 26.7.5).
inline double student(std::size_t freedom) {
  constexpr double small[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
  K2K_EXPECT(freedom >= 1);
  if (freedom <= std::size(small)) return small[freedom - 1];
  constexpr double normal = 1.96;
  const auto n = static_cast<double>(freedom);
  const double cube = normal * normal * normal;
  return normal + (cube + normal) / (4 * n) +
         (5 * cube * normal * normal + 16 * cube + 3 * normal) / (96 * n * n);
}

// The 95 % interval of the mean of the rounds' logarithms, by Student's t. Expects at least two
// rounds, and ratios above 0.
inline Interval interval_of(const std::vector<double>& ratios) {
  K2K_EXPECT(ratios.size() >= 2);
  const auto n = static_cast<double>(ratios.size());
  double mean = 0;
  for (const double ratio : ratios) mean += std::log(ratio) / n;
  double squares = 0;
  for (const double ratio : ratios) squares += (std::log(ratio) - mean) * (std::log(ratio) - mean);
  const double half = student(ratios.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return {std::exp(mean - half), std::exp(mean), std::exp(mean + half), ratios.size()};
}

// Expects 0 < low <= high, and a target above 0.
inline Judgement judge(const Interval& seen, double target, Better better) {
  const bool higher = better == Better::higher;
  const double worst = higher ? seen.low : seen.high;
  const double best = higher ? seen.high : seen.low;
  const auto reaches = [&](double value) { return higher ? value >= target : value <= target; };
  if (reaches(worst)) return {Verdict::met, std::nullopt};
  if (!reaches(best)) return {Verdict::missed, std::nullopt};
  // The width of an interval falls with the root of the rounds.
  const double half = (std::log(seen.high) - std::log(seen.low)) / 2;
  const double off = std::abs((std::log(seen.high) + std::log(seen.low)) / 2 - std::log(target));
  const auto rounds = static_cast<double>(seen.rounds);
  const double more = std::ceil(rounds * (half / off) * (half / off) - rounds);
  Judgement judgement;
  if (seen.rounds > 0 && more <= more_rounds_max) {
    judgement.more_rounds = more < 1 ? 1 : static_cast<std::uint64_t>(more);
  }
  return judgement;
}

}  // namespace k2k::bench
