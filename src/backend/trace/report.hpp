#pragma once
// What the replay of a trace tells, for who reads it and needs no backend.
//
// Threading: values.

#include <cstdint>
#include <string>

#include "base/units.hpp"
#include "telemetry/snapshots.hpp"

namespace k2k::backend::trace {

// What a replay was.
struct Report {
  std::uint64_t requests = 0;   // Asked of the host.
  std::uint64_t answered = 0;   // Of these, rightly or wrongly.
  std::uint64_t refused = 0;    // Of these, ended by the server instead.
  std::uint64_t errors = 0;     // Wrong answers; part of answered.
  std::string first_error;      // "pread answered -14"; empty without errors.
  std::uint64_t ring_full = 0;  // Times that a doorbell ring had no place.
  Nanoseconds elapsed{};
  Nanoseconds stalled{};  // All work-items waited, and the trace had a request that was due.
  Nanoseconds device{};   // Time that service threads spent on being the device.
  telemetry::HistogramSnapshot delays;  // From due to answered, in ticks.
  double tick_ns = 1;

  [[nodiscard]] double delay_us(double quantile) const {
    return delays.quantile(quantile) * tick_ns / 1e3;
  }
};

}  // namespace k2k::backend::trace
