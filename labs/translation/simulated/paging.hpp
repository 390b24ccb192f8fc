#pragma once
// What page faults (figure 4.6) and invalidations (section 4.6) cost on the simulated machine.
//
// Threading: pure functions.

#include <cstdint>
#include <vector>

#include "labs/translation/simulated/machine.hpp"

namespace k2k::labs::translation {

// Faults of a wavefront whose work-items each touch a new page, and wait for one another: bursts.
struct FaultPoint {
  std::uint32_t items;
  double a_ms;
  double driver_us;  // Of a fault, from the IOMMU's queue to the mapping: what the thesis measured.
  double device_us;  // Of a fault, from the miss to the translation.
  double batch;      // Faults a batch.
};
// Of 1, 2, 4, … 64 work-items.
std::vector<FaultPoint> faults_by_items(const Machine& machine);

// Cores that invalidate without a pause.
struct InvalidationPoint {
  std::uint32_t cores;
  bool all;   // All entries; else one.
  double ns;  // Of one, from the request of its core to its end.
  double a_ms;
};
// Of 1, 2, 4, 8 and 16 cores.
std::vector<InvalidationPoint> invalidations_by_cores(std::uint32_t command_queue);

// A trace while one core invalidates all entries without a pause. `usual_ns`: how long the trace
// takes without it.
Counts simulate_flushed(const Machine& machine, const WaveTrace& trace, double usual_ns);

}  // namespace k2k::labs::translation
