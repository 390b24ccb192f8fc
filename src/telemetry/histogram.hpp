#pragma once
// Latencies in the buckets of snapshots.hpp.
//
// Threading: a Histogram is written by one thread and read by any.

#include <array>
#include <cstdint>

#include "telemetry/counter.hpp"
#include "telemetry/snapshots.hpp"

namespace k2k::telemetry {

class Histogram {
 public:
  void record(std::uint64_t value, std::uint64_t times = 1) {
    counts_[bucket_of(value)].add(times);
  }
  void add_to(HistogramSnapshot& snapshot) const {
    for (std::uint32_t bucket = 0; bucket < histogram_buckets; ++bucket) {
      const std::uint64_t count = counts_[bucket].value();
      if (count != 0) snapshot.add(bucket, count);
    }
  }

 private:
  std::array<Counter, histogram_buckets> counts_{};
};

}  // namespace k2k::telemetry
