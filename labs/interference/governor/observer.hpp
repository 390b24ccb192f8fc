#pragma once
// Computes a run's shares of the machine's CPU time from an observer's readings
// (host/observer.hpp).
//
// Threading: pure functions.

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "host/observer.hpp"

namespace k2k::labs::governor {

using host::is_device_thread;
using host::Observer;
using host::Reading;

// CPU time between the first reading and the last, as a fraction of the CPU time of `cores`. 0 if
// there are fewer than two readings.
double share_of(const std::vector<Reading>& readings, std::uint32_t cores);
// The largest such share in any window of this length. CPU time is interpolated linearly between
// readings. If the readings do not span a window, the share of all readings.
double worst_share_of(const std::vector<Reading>& readings, Nanoseconds window,
                      std::uint32_t cores);

}  // namespace k2k::labs::governor
