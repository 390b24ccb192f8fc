#pragma once
// What an observer's readings (host/observer.hpp) say of a run: shares of the machine's CPU time.
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

// CPU time between the first reading and the last, as a fraction of the CPU time of `cores`. 0 for
// less than two readings.
double share_of(const std::vector<Reading>& readings, std::uint32_t cores);
// The largest such share in any window of this length, with CPU time on straight lines between the
// readings; that of all readings where they span no window.
double worst_share_of(const std::vector<Reading>& readings, Nanoseconds window,
                      std::uint32_t cores);

}  // namespace k2k::labs::governor
