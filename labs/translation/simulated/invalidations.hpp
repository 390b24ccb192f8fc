#pragma once
// Shootdowns of a device's translations (sections 4.2.3 and 4.6): a core of the CPU puts a command
// into the IOMMU's queue and waits for its end.
//
//   core ─▶ initialise ─▶ [queue] ─▶ IOMMU's TLB ─▶ GPU's TLBs ─▶ finalise ─▶ the core's next one
//
// The IOMMU works on a command at a time, and so does the GPU; a command keeps its place in the
// queue until the GPU has done its part. The parts' times are those of table 4.4. That the two
// parts of different commands overlap is an assumption: the thesis measured one at a time.
//
// Threading: pure functions.

#include <cstdint>
#include <span>
#include <vector>

namespace k2k::labs::translation {

struct Invalidation {
  std::uint32_t core = 0;
  double at_ns = 0;  // The core asks then, or as soon as its invalidation before this one ends.
  std::uint64_t page = 0;
  std::uint64_t pages = 0;  // From `page` on; 0: all entries.
  bool unmaps = false;      // The pages are gone from the page table, too, once the core asks.
};

struct InvalidationTimes {
  double asked_ns;
  double iommu_ns;  // The IOMMU's TLB has none of the entries from here on,
  double gpu_ns;    // and neither have the GPU's.
  double retired_ns;
};

// Of each invalidation, in their order; those of a core follow each other. Expects a queue of one
// command at least.
std::vector<InvalidationTimes> times_of(std::span<const Invalidation> invalidations,
                                        std::uint32_t command_queue);

}  // namespace k2k::labs::translation
