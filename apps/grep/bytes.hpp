#pragma once
// Comparing and moving bytes in device code: nvcc treats the compiler's builtins as host functions.
//
// Threading: pure functions of the caller's memory.

#include <cstddef>

#include "base/attributes.hpp"

namespace k2k::grep {

K2K_HD inline bool same_bytes(const unsigned char* left, const unsigned char* right,
                              std::size_t bytes) {
#if defined(__CUDACC__)
  for (std::size_t place = 0; place < bytes; ++place) {
    if (left[place] != right[place]) return false;
  }
  return true;
#else
  return __builtin_memcmp(left, right, bytes) == 0;
#endif
}

// The two may overlap; expects `to` before `from`.
K2K_HD inline void move_down(unsigned char* to, const unsigned char* from, std::size_t bytes) {
#if defined(__CUDACC__)
  for (std::size_t place = 0; place < bytes; ++place) to[place] = from[place];
#else
  __builtin_memmove(to, from, bytes);
#endif
}

}  // namespace k2k::grep
