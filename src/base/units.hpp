#pragma once
// Units are types: a function that takes a duration does not accept a count.

#include <chrono>
#include <cstdint>

namespace k2k {

using Nanoseconds = std::chrono::nanoseconds;
using Instant = std::chrono::time_point<std::chrono::steady_clock, Nanoseconds>;

}  // namespace k2k
