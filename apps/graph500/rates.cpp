#include "apps/graph500/rates.hpp"

#include <algorithm>
#include <cmath>

#include "base/contract.hpp"

namespace k2k::graph500 {

RateStatistics statistics_of(std::vector<double> rates) {
  K2K_EXPECT(!rates.empty());
  std::sort(rates.begin(), rates.end());
  const auto count = static_cast<double>(rates.size());
  double inverse_mean = 0;
  for (const double rate : rates) inverse_mean += 1 / rate / count;
  double squares = 0;
  for (const double rate : rates) squares += std::pow(1 / rate - inverse_mean, 2);
  RateStatistics statistics;
  statistics.harmonic_mean = 1 / inverse_mean;
  if (rates.size() > 1) {
    // The standard error of the mean of 1 / rate, carried over to its inverse.
    const double error = std::sqrt(squares / (count - 1)) / std::sqrt(count - 1);
    statistics.harmonic_deviation = error / (inverse_mean * inverse_mean);
  }
  const std::size_t middle = rates.size() / 2;
  statistics.least = rates.front();
  statistics.most = rates.back();
  statistics.median =
      rates.size() % 2 != 0 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2;
  return statistics;
}

}  // namespace k2k::graph500
