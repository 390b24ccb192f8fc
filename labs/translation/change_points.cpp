#include "labs/translation/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/contract.hpp"

namespace k2k::labs::translation {

namespace {

// The deviation of the values around a staircase: the median of the differences of neighbours,
// which few steps do not move.
double noise_of(const std::vector<double>& values, double least) {
  std::vector<double> differences;
  for (std::size_t at = 1; at < values.size(); ++at) {
    differences.push_back(std::abs(values[at] - values[at - 1]));
  }
  if (differences.empty()) return least;
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  constexpr double median_to_deviation = 0.6745 * 1.4142;
  return std::max(least, *middle / median_to_deviation);
}

// Sums over prefixes, so that the squares of any segment cost two subtractions.
class Squares {
 public:
  explicit Squares(const std::vector<double>& values) : sum_{0}, square_{0} {
    for (const double value : values) {
      sum_.push_back(sum_.back() + value);
      square_.push_back(square_.back() + value * value);
    }
  }
  // Around the mean of [first, end).
  [[nodiscard]] double of(std::size_t first, std::size_t end) const {
    const double sum = sum_[end] - sum_[first];
    return square_[end] - square_[first] - sum * sum / static_cast<double>(end - first);
  }
  [[nodiscard]] double mean(std::size_t first, std::size_t end) const {
    return (sum_[end] - sum_[first]) / static_cast<double>(end - first);
  }

 private:
  std::vector<double> sum_;
  std::vector<double> square_;
};

}  // namespace

std::vector<Segment> segments_of(const std::vector<double>& values, const StepRule& rule) {
  if (values.empty()) return {};
  std::vector<double> logs;
  for (const double value : values) {
    K2K_EXPECT(value > 0);
    logs.push_back(std::log(value));
  }
  const std::size_t count = logs.size();
  const double noise = noise_of(logs, rule.noise);
  const double price = 6 * noise * noise * std::log(static_cast<double>(count) + 1);
  const Squares squares(logs);

  // best[end]: the cheapest partition of the values before `end`; from[end]: its last segment.
  std::vector<double> best(count + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(count + 1, 0);
  best[0] = 0;
  for (std::size_t end = 1; end <= count; ++end) {
    for (std::size_t first = 0; first < end; ++first) {
      const bool inner = first > 0 && end < count;
      if (inner && end - first < rule.least) continue;
      const double cost = best[first] + squares.of(first, end) + price;
      if (cost < best[end]) {
        best[end] = cost;
        from[end] = first;
      }
    }
  }

  std::vector<Segment> segments;
  for (std::size_t end = count; end > 0; end = from[end]) {
    segments.push_back({from[end], end - 1, 0});
  }
  std::reverse(segments.begin(), segments.end());
  std::vector<Segment> merged;
  const auto mean = [&](const Segment& one) { return squares.mean(one.first, one.last + 1); };
  for (const Segment& one : segments) {
    if (!merged.empty() && std::abs(mean(merged.back()) - mean(one)) < std::log(rule.step)) {
      merged.back().last = one.last;
    } else {
      merged.push_back(one);
    }
  }
  for (Segment& one : merged) one.value = std::exp(mean(one));
  return merged;
}

}  // namespace k2k::labs::translation
