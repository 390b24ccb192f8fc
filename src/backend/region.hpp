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

// The parts of a discard (thesis, table 4.4): until Linux is called; Linux, which unmaps the pages
// and lets other cores drop their translations; the rest.
enum class DiscardPart : std::uint8_t { initialise, remove, finalise };
inline constexpr std::size_t discard_parts = 3;

// Of a region that its device fills, all are 0.
struct RegionCounters {
  std::uint64_t pages = 0;     // Filled, by any thread.
  std::uint64_t in_place = 0;  // Faults resolved by the faulting thread itself.
  std::uint64_t discards = 0;  // By discard(), and by madvise(2) of kernels.
  std::uint64_t discard_cycles[discard_parts] = {};  // Their sums, by DiscardPart (base/clock.hpp).
};

// A region of the table, or pages that a device brings in itself (device_regions.hpp); return it
// with retire_region().
struct RegionHandle {
  std::uint32_t place = 0;
  std::byte* data = nullptr;
  std::shared_ptr<void> pages = {};  // Null: a region of the table.
};

}  // namespace k2k::backend
