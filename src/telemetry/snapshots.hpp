#pragma once
// Copies of counters: latencies in buckets, the parts of a request, names of stages. For code that
// reads numbers without counting.
//
// A bucket's width is an eighth of its value, so any quantile is within 12.5 %.
//
//   value     0..7 one bucket each, then eight buckets an octave, up to 2^63
//
// Threading: values.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

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

  // The middle of the bucket that holds the quantile; 0 if nothing was recorded. Expects 0 <=
  // quantile <= 1.
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

// The parts of a request's time, as drawn in request_times.hpp.
enum class RequestPart : std::uint8_t {
  initialisation,  // The call was made, or the handler entered → request published.
  scheduling,      // → a service thread begins with it.
  processing,      // → the call has returned, or the page is there.
  completion,      // → the work-item runs again.
  total,
};
inline constexpr std::size_t request_parts = 5;
inline constexpr const char* request_part_names[request_parts] = {
    "initialisation", "scheduling", "processing", "completion", "total"};

struct RequestReport {
  std::array<HistogramSnapshot, request_parts> cycles;
  std::array<std::uint64_t, request_parts> sum_cycles{};

  [[nodiscard]] std::uint64_t count() const { return cycles.back().count(); }
  void merge(const RequestReport& other) {
    for (std::size_t part = 0; part < request_parts; ++part) {
      cycles[part].merge(other.cycles[part]);
      sum_cycles[part] += other.sum_cycles[part];
    }
  }
};

// The stages of a service thread's CPU time (ledger.hpp).
enum class Stage : std::uint8_t {
  polling,      // Polls that find no doorbell; rescans.
  top_half,     // Acknowledging and coalescing.
  bottom_half,  // Reading slots, validating, classifying; calls that are answered at once.
  service,      // The system call itself.
  completion,   // Publishing results and waking.
  upkeep,       // Going to sleep, waking, watching the others, the governor.
};
inline constexpr std::size_t stage_count = 6;
inline constexpr const char* stage_names[stage_count] = {"polling", "top half",   "bottom half",
                                                         "service", "completion", "upkeep"};
// As keys of JSON and values of labels.
inline constexpr const char* stage_keys[stage_count] = {"polling", "top_half",   "bottom_half",
                                                        "service", "completion", "upkeep"};

}  // namespace k2k::telemetry
