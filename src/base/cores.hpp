#pragma once
// Numbers of CPUs: the CPUs that may come online, the online CPUs, and the online CPUs that this
// thread may use (sched_setaffinity(2), cpuset of a container).
//
// Threading: from anywhere.

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/found_once.hpp"

namespace k2k {

inline std::size_t possible_cores() {
  static constinit FoundOnce<long> count;
  return static_cast<std::size_t>(
      count.get([] { return std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)); }));
}

inline std::uint32_t online_cores() {
  return static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

inline std::uint32_t usable_cores() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  // More CPUs than the set can hold: assume that all are usable.
  if (::sched_getaffinity(0, sizeof(usable), &usable) != 0) return online_cores();
  return static_cast<std::uint32_t>(CPU_COUNT(&usable));
}

}  // namespace k2k
