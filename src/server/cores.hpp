#pragma once
// How many CPUs there are: those that may come online, and those that are.
//
// Threading: from anywhere.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace k2k::server {

inline std::size_t possible_cores() {
  static const long count = std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF));
  return static_cast<std::size_t>(count);
}

inline std::uint32_t online_cores() {
  return static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace k2k::server
