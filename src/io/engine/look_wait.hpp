#pragma once
// The pause of a thread between two polls of a device's copy.
//
// Threading: from anywhere.

#include <sched.h>

#include <ctime>

namespace k2k::io {

// A copy of a megabyte takes 20 to 100 µs, so the first polls follow quickly; later polls yield the
// core. `looks`: polls so far without news.
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
