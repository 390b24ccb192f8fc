#pragma once
// A wait for another thread that usually answers within a microsecond.
//
// Threading: anywhere.

#include <sched.h>

#include <cstdint>

namespace k2k::bench {

// Some microseconds.
inline constexpr std::uint32_t looks_before_yield = 10'000;

// A short wait only looks. A longer wait gives the core away between looks, because the other
// thread may need this core.
template <class Ready>
inline void wait_until(const Ready& ready) {
  for (std::uint32_t looks = 0; !ready(); ++looks) {
    if (looks >= looks_before_yield) sched_yield();
  }
}

}  // namespace k2k::bench
