#pragma once
// CPU time that a test's thread consumes.

#include "base/clock.hpp"

namespace k2k::server {

inline void burn(Nanoseconds cpu) {
  const Nanoseconds end = thread_time() + cpu;
  while (thread_time() < end) {
  }
}

}  // namespace k2k::server
