#pragma once
// Five load shapes that differ in their best coalescing. Each is a list of events computed from a
// seed, so every setting of a round gets the same events.
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
  std::string_view about;  // How requests arrive.
  std::uint32_t outstanding;
  std::vector<TraceEvent> (*events)(std::uint64_t seed, Nanoseconds length);
};

//   sparse     2,000 a second: most requests are alone in any window that the bound permits
//   dense      100,000 a second: a poller sleeps only within a window
//   bursts     32 within 60 us, then 4 ms of silence: best is a window just as long as the burst
//   lognormal  8 work-items request services of 8 us (median; sigma 0.8) and pause for 20 us:
//              bundles form during other services, and a window delays the work-items
//   on_off     50 ms of 50,000 a second, 50 ms of 2,000: the best setting changes
std::span<const Shape> shapes();

// Returns nullptr if no shape has this name.
const Shape* find_shape(std::string_view name);

}  // namespace k2k::labs::coalescing
