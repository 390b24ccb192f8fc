#pragma once
// A demand-paged region from its owner's point of view; demand_pages.hpp makes it.
//
// Threading: values.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace k2k::backend {

struct RegionPlan;

// The thread that resolves a work-item's fault.
enum class FaultHandling : std::uint8_t {
  request,   // The server, by a request; the work-item halts, its unit continues.
  in_place,  // The unit itself, at once: no hand-over, but its other work-items wait.
};

struct RegionCounters {
  std::uint64_t pages = 0;     // Filled, by any thread. 0 where the device brings pages in itself.
  std::uint64_t in_place = 0;  // Faults resolved by the faulting thread itself.
};

// A region of the table, or pages that a device brings in itself (device_regions.hpp); return it
// with retire_region().
struct RegionHandle {
  std::uint32_t place = 0;
  std::byte* data = nullptr;
  std::shared_ptr<void> pages = {};  // Null: a region of the table.
};

}  // namespace k2k::backend
