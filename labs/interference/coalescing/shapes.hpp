#pragma once
// Five load shapes that differ in which coalescing is best. Each is a list of events, computed from
// a seed: every setting of a round is given the very same one.
//
// Threading: pure functions.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "k2k/trace.hpp"

namespace k2k::labs::coalescing {

struct Shape {
  std::string_view name;
  std::string_view about;  // How requests come.
  std::uint32_t outstanding;
  std::vector<TraceEvent> (*events)(std::uint64_t seed, Nanoseconds length);
};

//   sparse     2,000 a second: most are alone in any window that the bound permits
//   dense      100,000 a second: a poller never rests, but in a window
//   bursts     32 within 60 us, then 4 ms of silence: a window that holds the burst, and no longer
//   lognormal  8 work-items ask for 8 us in the middle (sigma 0.8), think 20 us, ask again: bundles
//              form while others are served, and a window makes work-items wait that would ask
//   on_off     50 ms of 50,000 a second, 50 ms of 2,000: what is best changes
std::span<const Shape> shapes();

// nullptr: there is none of this name.
const Shape* find_shape(std::string_view name);

}  // namespace k2k::labs::coalescing
