#pragma once
// Replaces src/base/clock.hpp in the simulation: time advances with the steps.
//
// Threading: as tests/simulation/hooks.hpp.

#include <cstdint>

#include "base/units.hpp"
#include "tests/simulation/hooks.hpp"

namespace k2k {

inline std::uint64_t cycles() { return simulation::clock(); }
inline std::uint32_t stamp_at(std::uint64_t moment) {
  return static_cast<std::uint32_t>(moment >> 4) + 1;
}
inline std::uint64_t cycles_since(std::uint32_t stamp, std::uint64_t moment) {
  return std::uint64_t{stamp_at(moment) - stamp} << 4;
}
inline std::uint64_t cycles_of(std::uint32_t microseconds) { return microseconds; }

}  // namespace k2k
