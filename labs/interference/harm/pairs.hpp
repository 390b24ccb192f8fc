#pragma once
// The statistics of the interference laboratory: runs in pairs, in the order ABBA or BAAB that a
// seed draws, so that a drift of the machine changes both sides alike; the mean of the pairs'
// values with a bootstrap interval; and the rule that ends a comparison.
//
// Threading: pure functions.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/verdict.hpp"

namespace k2k::labs::harm {

// A number from a seed and a text, the same on every machine.
std::uint64_t seed_of(std::uint64_t seed, std::string_view text);

// The sides of a block's four runs: false is A. Runs 0 and 1 are a pair, and 2 and 3.
std::array<bool, 4> block_order(std::uint64_t seed, std::string_view comparison, std::size_t block);

// The mean of values and its 95 % interval: the percentiles 2.5 and 97.5 of the means of 2,000
// resamples, drawn from a seed (Efron's percentile bootstrap), moved outwards as Student's
// distribution requires for few values. Of one value the interval is that value.
struct Estimate {
  double low = 0;
  double mean = 0;
  double high = 0;
  std::size_t pairs = 0;

  [[nodiscard]] double half_width() const { return (high - low) / 2; }
  [[nodiscard]] bool contains(double value) const { return low <= value && value <= high; }
};
// Without values: all zero.
Estimate bootstrap(const std::vector<double>& values, std::uint64_t seed);
// How many of so many independent 95 % intervals exclude the true value: in 95 % of all studies at
// most this number.
unsigned most_by_chance(unsigned intervals);

// Of logarithms: the ratio.
bench::Interval ratio_of(const Estimate& logarithms);

// A comparison ends when every primary interval is narrow, or when its budget of pairs is used up.
struct StopRule {
  double half_width = 0.0075;
  std::size_t pairs_min = 10;
  std::size_t pairs_cut = 4;  // So many pairs are measured although the time is over.
  std::size_t pairs_max = 200;
};
enum class End : std::uint8_t { goes_on, precise, exhausted };
// `made` includes pairs that were discarded.
End end_of(const std::vector<Estimate>& primary, std::size_t made, const StopRule& rule);

}  // namespace k2k::labs::harm
