#pragma once
// The trace backend: an accelerator for machines without one, and one that costs no core
// (docs/design/trace.md). It runs no kernels: it replays traces.
//
// Threading: as any backend; it has no thread.

#include <cstdint>
#include <memory>
#include <string>

#include "backend/backend.hpp"
#include "backend/trace/event.hpp"
#include "base/units.hpp"
#include "telemetry/histogram.hpp"

namespace k2k::backend::trace {

// Of the configuration it heeds device.compute_units (1 where it says 0), resident_waves,
// wave_lanes, rings, ring_entries and arena_blocks. Errors: EINVAL with the value and the permitted
// range; ENOMEM.
Result<std::unique_ptr<Backend>> create(const DeviceConfig& config);

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

struct Replay {
  Source* source = nullptr;
  std::uint32_t outstanding = 64;  // Requests with the host; 1 to the number of slots.
  Nanoseconds longest{};           // Events due later are left out; 0 = to the trace's end.
  Report* report = nullptr;        // Filled in by launch(), also where it fails.
};

// What launch() of this backend takes; `replay` and what it points to outlive the launch.
KernelImage image_of(const Replay& replay, const char* name);

}  // namespace k2k::backend::trace
