#pragma once
// How many CPUs there are: those that may come online, and those that are.
//
// Threading: from anywhere.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/found_once.hpp"

namespace k2k::server {

inline std::size_t possible_cores() {
  static constinit FoundOnce<long> count;
  return static_cast<std::size_t>(
      count.get([] { return std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)); }));
}

inline std::uint32_t online_cores() {
  return static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace k2k::server
