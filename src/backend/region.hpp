#pragma once
// A demand-paged region as its owner sees it; demand_pages.hpp makes it.
//
// Threading: values.

#include <cstddef>
#include <cstdint>

namespace k2k::backend {

struct RegionPlan;

// Who resolves the fault of a work-item.
enum class FaultHandling : std::uint8_t {
  request,   // The server, by a request; the work-item halts, its unit goes on.
  in_place,  // The unit itself, at once: no hand-over, but its other work-items wait.
};

struct RegionCounters {
  std::uint64_t pages = 0;     // Brought in, by whomever.
  std::uint64_t in_place = 0;  // Faults that the thread which made them resolved itself.
};

// A region of the table; hand it back with retire_region().
struct RegionHandle {
  std::uint32_t place = 0;
  std::byte* data = nullptr;
};

}  // namespace k2k::backend
