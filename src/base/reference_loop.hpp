#pragma once
// A loop that the processor's clock alone decides: benchmarks give a time as a multiple of it.
//
// Threading: reentrant.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"

namespace k2k {

// Nanoseconds of 1,000 multiplications and additions, each of which needs the one before: the
// median of `rounds`, at least one.
inline double reference_loop_ns(int rounds) {
  constexpr int steps = 1'000;
  std::vector<double> nanoseconds;
  std::uint64_t number = 1;
  for (int round = 0; round < rounds; ++round) {
    const Instant begin = now();
    for (int step = 0; step < steps; ++step) {
      number = number * 6364136223846793005u + 1442695040888963407u;
      asm volatile("" : "+r"(number));  // Keeps every step.
    }
    nanoseconds.push_back(static_cast<double>((now() - begin).count()));
  }
  const auto middle = nanoseconds.begin() + rounds / 2;
  std::nth_element(nanoseconds.begin(), middle, nanoseconds.end());
  return *middle;
}

}  // namespace k2k
