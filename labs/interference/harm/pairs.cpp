#include "labs/interference/harm/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "labs/interference/generators/counter_random.hpp"

namespace k2k::labs::harm {

namespace {

// Resamples of few values spread less than the values' mean does: by sqrt((n - 1) / n), and as if
// their variance were known. The factor repairs both (Hesterberg, The American Statistician 69,
// 2015, section 4).
double for_few(std::size_t values) {
  if (values < 2) return 1;
  constexpr double normal = 1.96;
  const auto count = static_cast<double>(values);
  return bench::student(values - 1) / normal * std::sqrt(count / (count - 1));
}

}  // namespace

std::uint64_t seed_of(std::uint64_t seed, std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325u;  // FNV-1a.
  for (const char letter : text) {
    sum = (sum ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  }
  return generators::draw(seed, sum);
}

std::array<bool, 4> block_order(std::uint64_t seed, std::string_view comparison,
                                std::size_t block) {
  const bool reversed = (generators::draw(seed_of(seed, comparison), block) & 1) != 0;
  return {reversed, !reversed, !reversed, reversed};
}

Estimate bootstrap(const std::vector<double>& values, std::uint64_t seed) {
  constexpr std::size_t resamples = 2'000;
  Estimate estimate{.pairs = values.size()};
  if (values.empty()) return estimate;
  const auto count = static_cast<double>(values.size());
  estimate.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  std::vector<double> means(resamples);
  std::uint64_t drawn = 0;
  for (double& mean : means) {
    for (std::size_t at = 0; at < values.size(); ++at) {
      mean += values[generators::below(static_cast<std::uint32_t>(values.size()),
                                       generators::draw(seed, drawn++))];
    }
    mean /= count;
  }
  std::sort(means.begin(), means.end());
  const double wider = for_few(values.size());
  estimate.low = estimate.mean - wider * (estimate.mean - means[resamples / 40]);
  estimate.high = estimate.mean + wider * (means[resamples - 1 - resamples / 40] - estimate.mean);
  return estimate;
}

unsigned most_by_chance(unsigned intervals) {
  constexpr double excluded = 0.05;
  // The binomial distribution, term by term.
  double term = std::pow(1 - excluded, intervals);
  double sum = term;
  unsigned most = 0;
  while (most < intervals && sum < 1 - excluded) {
    term *= excluded / (1 - excluded) * (intervals - most) / (most + 1);
    sum += term;
    ++most;
  }
  return most;
}

bench::Interval ratio_of(const Estimate& logarithms) {
  return {std::exp(logarithms.low), std::exp(logarithms.mean), std::exp(logarithms.high),
          logarithms.pairs};
}

End end_of(const std::vector<Estimate>& primary, std::size_t made, const StopRule& rule) {
  const bool precise = std::all_of(primary.begin(), primary.end(), [&](const Estimate& one) {
    return one.pairs >= rule.pairs_min && one.half_width() <= rule.half_width;
  });
  if (precise) return End::precise;
  return made >= rule.pairs_max ? End::exhausted : End::goes_on;
}

}  // namespace k2k::labs::harm
