#pragma once
// Latencies in buckets whose width is an eighth of their value: any quantile within 12.5 %.
//
//   value     0..7 one bucket each, then eight buckets an octave, up to 2^63
//
// Histogram is written by one thread and read by any; Snapshot is a plain copy that adds up.

#include <array>
#include <bit>
#include <cstdint>

#include "telemetry/counter.hpp"

namespace k2k::telemetry {

inline constexpr std::uint32_t histogram_buckets = 8 + 61 * 8;

constexpr std::uint32_t bucket_of(std::uint64_t value) {
  if (value < 8) return static_cast<std::uint32_t>(value);
  const auto octave = static_cast<std::uint32_t>(std::bit_width(value)) - 1;  // >= 3
  return 8 + (octave - 3) * 8 + static_cast<std::uint32_t>(value >> (octave - 3) & 7);
}

// The smallest value that falls into the bucket.
constexpr std::uint64_t bucket_floor(std::uint32_t bucket) {
  if (bucket < 8) return bucket;
  const std::uint32_t octave = (bucket - 8) / 8 + 3;
  return (std::uint64_t{8} + (bucket - 8) % 8) << (octave - 3);
}

constexpr std::uint64_t bucket_width(std::uint32_t bucket) {
  return bucket < 8 ? 1 : std::uint64_t{1} << ((bucket - 8) / 8);
}

class HistogramSnapshot {
 public:
  void add(std::uint32_t bucket, std::uint64_t amount) {
    counts_[bucket] += amount;
    total_ += amount;
  }
  void merge(const HistogramSnapshot& other) {
    for (std::uint32_t bucket = 0; bucket < histogram_buckets; ++bucket) {
      counts_[bucket] += other.counts_[bucket];
    }
    total_ += other.total_;
  }
  [[nodiscard]] std::uint64_t count() const { return total_; }
  [[nodiscard]] std::uint64_t in_bucket(std::uint32_t bucket) const { return counts_[bucket]; }

  // The middle of the bucket that holds the quantile; 0 when nothing was recorded.
  // Expects 0 <= quantile <= 1.
  [[nodiscard]] double quantile(double quantile) const {
    if (total_ == 0) return 0;
    const auto rank = static_cast<std::uint64_t>(quantile * static_cast<double>(total_ - 1));
    std::uint64_t seen = 0;
    for (std::uint32_t bucket = 0; bucket < histogram_buckets; ++bucket) {
      seen += counts_[bucket];
      if (seen <= rank) continue;
      const std::uint64_t floor = bucket_floor(bucket);
      return static_cast<double>(floor) + static_cast<double>(bucket_width(bucket) - 1) / 2;
    }
    return 0;
  }

 private:
  std::array<std::uint64_t, histogram_buckets> counts_{};
  std::uint64_t total_ = 0;
};

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
