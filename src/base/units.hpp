#pragma once
// Units are types: a function that wants a duration cannot be handed a count.

#include <chrono>
#include <cstdint>

namespace k2k {

using Nanoseconds = std::chrono::nanoseconds;
using Instant = std::chrono::time_point<std::chrono::steady_clock, Nanoseconds>;

}  // namespace k2k
