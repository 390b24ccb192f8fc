#pragma once
// Copies memory by loads of 16 bytes, several on their way at once, by all lanes of a group or by
// one work-item.
//
// On a discrete GPU every load of the host's memory crosses the bus: it takes 1 to 2 us whatever
// its width, and is not cached. Neighbouring lanes take neighbouring units, so that the hardware
// joins their loads.
//
// Threading: device code. A barrier must separate the copy from its use by other lanes.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::apps {

inline constexpr std::size_t wide_bytes = 16;
inline constexpr std::uint32_t wide_loads = 8;  // On their way at once, of each lane.

K2K_HD constexpr std::size_t whole_wides(std::size_t bytes) {
  return (bytes + wide_bytes - 1) / wide_bytes * wide_bytes;
}

struct alignas(wide_bytes) Wide {
  std::uint32_t word[4];
};

#if defined(__CUDA_ARCH__)
// The compiler keeps the order of volatile statements, so all loads of a round precede its stores.
K2K_HD inline void load_wide(Wide& to, const Wide* from) {
  asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.word[0]), "=r"(to.word[1]), "=r"(to.word[2]), "=r"(to.word[3])
               : "l"(from)
               : "memory");
}
K2K_HD inline void store_wide(Wide* to, const Wide& from) {
  asm volatile("st.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(from.word[0]), "r"(from.word[1]),
               "r"(from.word[2]), "r"(from.word[3])
               : "memory");
}
#else
K2K_HD inline void load_wide(Wide& to, const Wide* from) {
  __builtin_memcpy(&to, from, sizeof(Wide));
}
K2K_HD inline void store_wide(Wide* to, const Wide& from) {
  __builtin_memcpy(to, &from, sizeof(Wide));
}
#endif

// The part of lane `rank` of `lanes`. Both addresses are multiples of wide_bytes, and so many bytes
// are copied: both places have room for whole_wides(bytes).
K2K_HD inline void copy_wide(void* to, const void* from, std::size_t bytes, std::uint32_t rank,
                             std::uint32_t lanes) {
  auto* const target = static_cast<Wide*>(to);
  const auto* const source = static_cast<const Wide*>(from);
  const std::size_t units = (bytes + wide_bytes - 1) / wide_bytes;
  for (std::size_t begin = rank; begin < units; begin += std::size_t{wide_loads} * lanes) {
    Wide held[wide_loads];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (std::uint32_t load = 0; load < wide_loads; ++load) {
      const std::size_t unit = begin + std::size_t{load} * lanes;
      if (unit < units) load_wide(held[load], source + unit);
    }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (std::uint32_t load = 0; load < wide_loads; ++load) {
      const std::size_t unit = begin + std::size_t{load} * lanes;
      if (unit < units) store_wide(target + unit, held[load]);
    }
  }
}

// By one work-item alone.
K2K_HD inline void copy_alone(void* to, const void* from, std::size_t bytes) {
#if defined(__CUDA_ARCH__)
  copy_wide(to, from, bytes, 0, 1);
#else
  __builtin_memcpy(to, from, whole_wides(bytes));
#endif
}

}  // namespace k2k::apps
