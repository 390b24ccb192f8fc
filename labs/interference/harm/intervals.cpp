#include "labs/interference/harm/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "labs/interference/governor/study.hpp"

namespace k2k::labs::harm {

namespace {

constexpr double normal_95 = 1.96;  // Deviations to each side of a 95 % interval.

// The width of an interval, as a standard deviation of its logarithm.
double deviation(const bench::Interval& seen) {
  return (std::log(seen.high) - std::log(seen.low)) / (2 * normal_95);
}

bench::Interval interval_from(double logarithm, double deviation, std::size_t rounds) {
  return {std::exp(logarithm - normal_95 * deviation), std::exp(logarithm),
          std::exp(logarithm + normal_95 * deviation), rounds};
}

}  // namespace

bench::Interval mean_of(const std::vector<bench::Interval>& all) {
  double sum = 0;
  double squares = 0;
  std::size_t rounds = all.front().rounds;
  for (const bench::Interval& one : all) {
    sum += std::log(one.mean);
    squares += deviation(one) * deviation(one);
    rounds = std::min(rounds, one.rounds);
  }
  const auto count = static_cast<double>(all.size());
  return interval_from(sum / count, std::sqrt(squares) / count, rounds);
}

bench::Interval quotient_of(const bench::Interval& above, const bench::Interval& below) {
  // No std::hypot(): its version of glibc 2.35 would keep this program off older machines with a
  // GPU.
  const double up = deviation(above);
  const double down = deviation(below);
  const double spread = std::sqrt(up * up + down * down);
  return interval_from(std::log(above.mean) - std::log(below.mean), spread,
                       std::min(above.rounds, below.rounds));
}

nlohmann::ordered_json json_of(const Estimate& estimate) {
  return {{"low", governor::rounded(estimate.low)},
          {"mean", governor::rounded(estimate.mean)},
          {"high", governor::rounded(estimate.high)}};
}

}  // namespace k2k::labs::harm
