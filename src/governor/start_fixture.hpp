#pragma once
// The time at which the tests of governors begin.

#include "base/clock.hpp"

namespace k2k::governor {

inline constexpr Instant start{};

}  // namespace k2k::governor
