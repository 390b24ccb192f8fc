#pragma once
// The steps of a noisy staircase: piecewise constant segments by least squares, each further one at
// a price (optimal partitioning: Jackson et al., IEEE Signal Processing Letters 12(2), 2005). The
// levels of TLBs are the steps of the time of a load by footprint; the knee of figure 4.2 is the
// first step of the latency by work-items.
//
// Threading: pure functions.

#include <cstddef>
#include <vector>

namespace k2k::labs::translation {

struct Segment {
  std::size_t first;
  std::size_t last;  // Inclusive.
  double value;      // Geometric mean.
};

struct StepRule {
  // The relative noise that is assumed at least, also where the values are free of noise.
  double noise = 0.02;
  // Neighbouring segments whose values differ by a smaller factor are one.
  double step = 1.15;
  // The smallest number of values of a segment, but for the first and the last one.
  std::size_t least = 2;
};

// Expects values above 0. No values: no segments.
std::vector<Segment> segments_of(const std::vector<double>& values, const StepRule& rule);

}  // namespace k2k::labs::translation
