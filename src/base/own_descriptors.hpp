#pragma once
// The set of K2K's own descriptors, opened neither by the program nor by a kernel. A program that
// does not know K2K must not close them, even if it closes all possible numbers (shim/), and for a
// kernel they are not open (services/own_descriptors.hpp).
//
// Code that opens a descriptor for longer than a call enters it: Descriptor, io::moved_high().
// Numbers from own_numbers_max on are not recorded, and count as the program's.
//
// Threading: from anywhere, without a lock.

#include <atomic>
#include <bit>
#include <cstdint>

namespace k2k {

inline constexpr int own_numbers_max = 65536;
inline constinit std::atomic<std::uint64_t> own_numbers[own_numbers_max / 64] = {};

inline bool is_own(int descriptor) {
  if (descriptor < 0 || descriptor >= own_numbers_max) return false;
  const std::uint64_t word = own_numbers[descriptor / 64].load(std::memory_order_relaxed);
  return (word >> (descriptor % 64) & 1) != 0;
}

inline void set_own(int descriptor, bool own) {
  if (descriptor < 0 || descriptor >= own_numbers_max) return;
  const std::uint64_t bit = 1ull << (descriptor % 64);
  std::atomic<std::uint64_t>& word = own_numbers[descriptor / 64];
  if (own) {
    word.fetch_or(bit, std::memory_order_relaxed);
  } else {
    word.fetch_and(~bit, std::memory_order_relaxed);
  }
}

// The first of K2K's own descriptors from `from` on; own_numbers_max: none.
inline int next_own(int from) {
  for (int at = from < 0 ? 0 : from; at < own_numbers_max; at = (at / 64 + 1) * 64) {
    const std::uint64_t word = own_numbers[at / 64].load(std::memory_order_relaxed);
    const std::uint64_t left = word >> (at % 64);
    if (left != 0) return at + std::countr_zero(left);
  }
  return own_numbers_max;
}

}  // namespace k2k
