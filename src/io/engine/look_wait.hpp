#pragma once
// The pause of a thread between two polls of a device's copy.
//
// Threading: from anywhere.

#include <sched.h>

#include <ctime>

namespace k2k::io {

// A copy of a megabyte takes 20 to 100 µs: look often first, then give the core away. `looks`: how
// many have seen nothing new.
inline void wait_after_look(int looks) {
  constexpr int looks_before_nap = 100;
  constexpr long nap_ns = 20'000;
  if (looks < looks_before_nap) {
    ::sched_yield();
    return;
  }
  const timespec nap{0, nap_ns};
  ::nanosleep(&nap, nullptr);
}

}  // namespace k2k::io
