#pragma once
// What the lookups of a launch found together (bpt, xsbench): sums that are equal for every order
// of the lookups and every shape of the launch.
//
// Threading: device code and host code; the parts of a launch add at the same time. C++17.

#include <cstdint>

#include "base/attributes.hpp"
#include "device/atomic.hpp"

namespace k2k::apps {

inline constexpr std::uint64_t no_wrong = ~std::uint64_t{0};

struct LookupTotals {
  std::uint64_t found = 0;         // Lookups that have an answer.
  std::uint64_t bits = 0;          // A sum over the bits of all lookups and answers.
  std::uint64_t wrong = no_wrong;  // The least place << 8 | reason of the lookups that were ended.
};

// The place and the reason of a lookup that ends because its data are wrong.
K2K_HD constexpr std::uint64_t wrong_at(std::uint64_t place, std::uint8_t reason) {
  return place << 8 | reason;
}

// Adds the totals of one part. Relaxed: the host reads them after the launch.
K2K_HD inline void add_totals(LookupTotals& to, const LookupTotals& part) {
  AtomicRef(to.found).fetch_add(part.found, memory_order_relaxed);
  AtomicRef(to.bits).fetch_add(part.bits, memory_order_relaxed);
  if (part.wrong != no_wrong) AtomicRef(to.wrong).fetch_min(part.wrong, memory_order_relaxed);
}

// Calls `each` with the lookups of part `first` of `step` parts: turns of `turn` neighbours.
template <class Each>
K2K_HD inline void for_my_lookups(std::uint64_t lookups, std::uint32_t turn, std::uint64_t first,
                                  std::uint64_t step, const Each& each) {
  for (std::uint64_t begin = first * turn; begin < lookups; begin += step * turn) {
    const std::uint64_t left = lookups - begin;
    const std::uint64_t end = begin + (left < turn ? left : turn);
    for (std::uint64_t lookup = begin; lookup < end; ++lookup) each(lookup);
  }
}

}  // namespace k2k::apps
