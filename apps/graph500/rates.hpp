#pragma once
// The statistics of Graph500's output: the harmonic mean of the searches' traversed edges a second,
// because each is a rate over the same graph (specification, "Output").
//
// Threading: pure.

#include <cstddef>
#include <vector>

namespace k2k::graph500 {

struct RateStatistics {
  double harmonic_mean = 0;
  double harmonic_deviation = 0;  // As Graph500's reference code: the delta method. 0 for one rate.
  double least = 0;
  double median = 0;
  double most = 0;
};

// Expects rates above 0, and at least one.
RateStatistics statistics_of(std::vector<double> rates);

}  // namespace k2k::graph500
