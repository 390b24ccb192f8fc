#include "labs/interference/governor/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <vector>

namespace k2k::labs::governor {

namespace {

constexpr double time_min_us = 0.01;
constexpr double time_max_us = 1e6;
constexpr double sigma_max = 3;
// 9,999 of 10,000 normal numbers stay below this many standard deviations.
constexpr double far_out = 3.719;

Error wrong(std::string_view text, std::string_view why) {
  return Error{EINVAL,
               fmt::format("service time '{}': {}; give uniform:LO:HI, lognormal:MEAN:SIGMA or "
                           "fixed:X in microseconds, such as uniform:2:50",
                           text, why)};
}

// The words between colons.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t colon = 0; colon != std::string_view::npos;) {
    colon = text.find(':');
    words.push_back(text.substr(0, colon));
    if (colon != std::string_view::npos) text.remove_prefix(colon + 1);
  }
  return words;
}

// NaN if characters are left over.
double number(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole ? value : std::nan("");
}

bool is_time(double us) { return us >= time_min_us && us <= time_max_us; }

// The fraction of a normal distribution below `deviations`.
double below(double deviations) { return 0.5 * std::erfc(-deviations / std::numbers::sqrt2); }

}  // namespace

Result<ServiceTime> ServiceTime::parse(std::string_view text) {
  const std::vector<std::string_view> words = split(text);
  std::vector<double> values;
  for (std::size_t index = 1; index < words.size(); ++index) {
    values.push_back(number(words[index]));
    if (std::isnan(values.back()))
      return wrong(text, fmt::format("'{}' is no number", words[index]));
  }
  const std::string_view shape = words.front();
  const std::size_t wanted = shape == "fixed" ? 1 : 2;
  if (shape != "fixed" && shape != "uniform" && shape != "lognormal") {
    return wrong(text, fmt::format("'{}' is no distribution", shape));
  }
  if (values.size() != wanted) {
    return wrong(text, fmt::format("{} takes {} numbers, not {}", shape, wanted, values.size()));
  }
  const auto bounds = fmt::format("times are {:g} to {:g} us", time_min_us, time_max_us);
  if (!is_time(values[0])) return wrong(text, bounds);
  if (shape == "fixed") return fixed(values[0]);
  if (shape == "uniform") {
    if (!is_time(values[1])) return wrong(text, bounds);
    if (values[1] < values[0]) return wrong(text, "LO is above HI");
    return uniform(values[0], values[1]);
  }
  if (!(values[1] >= 0 && values[1] <= sigma_max)) {
    return wrong(text, fmt::format("SIGMA is 0 to {:g}", sigma_max));
  }
  return lognormal(values[0] * std::exp(-values[1] * values[1] / 2), values[1]);
}

double ServiceTime::draw_us(Random& random) const {
  switch (shape_) {
    case Shape::fixed:
      return middle_;
    case Shape::uniform:
      return low_ + (high_ - low_) * random.unit();
    case Shape::lognormal:
      return std::clamp(middle_ * std::exp(sigma_ * random.normal()), low_, high_);
  }
  return middle_;
}

double ServiceTime::mean_us() const {
  if (shape_ == Shape::fixed) return middle_;
  if (shape_ == Shape::uniform) return (low_ + high_) / 2;
  if (sigma_ <= 0) return std::clamp(middle_, low_, high_);
  // Values moved to a bound count as that bound; the partial expectation covers the values between
  // the bounds.
  const double from = low_ > 0 ? std::log(low_ / middle_) / sigma_ : -unbounded;
  const double to = std::isinf(high_) ? unbounded : std::log(high_ / middle_) / sigma_;
  const double inside =
      middle_ * std::exp(sigma_ * sigma_ / 2) * (below(to - sigma_) - below(from - sigma_));
  const double at_high = std::isinf(high_) ? 0 : high_ * below(-to);
  return inside + low_ * below(from) + at_high;
}

double ServiceTime::longest_us() const {
  if (shape_ != Shape::lognormal) return shape_ == Shape::fixed ? middle_ : high_;
  return std::min(high_, middle_ * std::exp(far_out * sigma_));
}

}  // namespace k2k::labs::governor
