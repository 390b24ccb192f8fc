#pragma once
// The trace backend: an accelerator for machines without one, which occupies no core
// (docs/design/trace.md). It runs no kernels; it replays traces.
//
// Threading: as any backend; it has no thread.

#include <cstdint>
#include <memory>
#include <string>

#include "backend/backend.hpp"
#include "backend/trace/event.hpp"
#include "backend/trace/report.hpp"
#include "base/units.hpp"

namespace k2k::backend::trace {

// Of the configuration it uses device.compute_units (0 means 1), resident_waves, wave_lanes, rings,
// ring_entries and arena_blocks. Errors: EINVAL with the value and the permitted range; ENOMEM.
Result<std::unique_ptr<Backend>> create(const DeviceConfig& config);

struct Replay {
  Source* source = nullptr;
  std::uint32_t outstanding = 64;  // Requests with the host; 1 to the number of slots.
  Nanoseconds longest{};           // Events due later are left out; 0: to the trace's end.
  Report* report = nullptr;        // Filled in by launch(), also on failure.
};

// The input of this backend's launch(); `replay` and everything that it points to must outlive the
// launch.
KernelImage image_of(const Replay& replay, const char* name);

}  // namespace k2k::backend::trace
