#pragma once
// The lowest bit of a word, for host and device code, at compile time too.
//
// C++17, freestanding. nvcc treats the compiler's builtins as host functions, so its version is
// written out; its optimiser recognises the pattern. Threading: pure functions.

#include <cstdint>

#include "base/attributes.hpp"

namespace k2k {

namespace detail {
K2K_HD constexpr std::uint64_t bits_set(std::uint64_t word) {
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return word * 0x0101010101010101u >> 56;
}
}  // namespace detail

// Index of the lowest bit that is set. Expects word != 0.
K2K_HD constexpr std::uint32_t lowest_bit(std::uint64_t word) {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
  return static_cast<std::uint32_t>(detail::bits_set((word & (~word + 1)) - 1));
#else
  return static_cast<std::uint32_t>(__builtin_ctzll(word));
#endif
}

}  // namespace k2k
