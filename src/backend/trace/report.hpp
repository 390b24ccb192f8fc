#pragma once
// The result of a replay, for readers that need no backend.
//
// Threading: values.

#include <cstdint>
#include <string>

#include "base/units.hpp"
#include "telemetry/snapshots.hpp"

namespace k2k::backend::trace {

// The result of a replay.
struct Report {
  std::uint64_t requests = 0;   // Published to the host.
  std::uint64_t answered = 0;   // Of these, rightly or wrongly.
  std::uint64_t refused = 0;    // Of these, ended by the server without an answer.
  std::uint64_t errors = 0;     // Wrong answers; part of answered.
  std::string first_error;      // "pread answered -14"; empty without errors.
  std::uint64_t ring_full = 0;  // Number of times that a doorbell ring had no place.
  Nanoseconds elapsed{};
  Nanoseconds stalled{};  // All work-items waited, and the trace had a request that was due.
  Nanoseconds device{};   // Time of service threads spent as the device.
  telemetry::HistogramSnapshot delays;  // From due to answered, in ticks.
  double tick_ns = 1;

  [[nodiscard]] double delay_us(double quantile) const {
    return delays.quantile(quantile) * tick_ns / 1e3;
  }
};

}  // namespace k2k::backend::trace
