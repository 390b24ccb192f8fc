#include "router/plan/scan.hpp"

#include <cstddef>
#include <cstring>

#include "base/bits.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace k2k::router {

namespace {

// Expects word != 0.
inline std::size_t highest_bit(std::uint64_t word) {
  return 63 - static_cast<std::size_t>(__builtin_clzll(word));
}

#define K2K_ROUTER_TARGET
namespace portable {
inline std::uint64_t absent64(const std::uint8_t* bytes) {
  std::uint64_t mask = 0;
  for (std::uint32_t eight = 0; eight < 8; ++eight) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + std::size_t{eight} * 8, 8);
    // The lowest bits of eight bytes, gathered in the top byte.
    const std::uint64_t bits = (~word & 0x0101010101010101u) * 0x0102040810204080u >> 56;
    mask |= bits << eight * 8;
  }
  return mask;
}
#include "router/plan/scan.inl"
}  // namespace portable
#undef K2K_ROUTER_TARGET

#if defined(__x86_64__)
#define K2K_ROUTER_TARGET __attribute__((target("avx2,bmi,lzcnt")))
namespace avx2 {
K2K_ROUTER_TARGET inline std::uint32_t cached32(const std::uint8_t* bytes) {
  const __m256i word = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_slli_epi16(word, 7)));
}
K2K_ROUTER_TARGET inline std::uint64_t absent64(const std::uint8_t* bytes) {
  return ~(cached32(bytes) | std::uint64_t{cached32(bytes + 32)} << 32);
}
#include "router/plan/scan.inl"
}  // namespace avx2
#undef K2K_ROUTER_TARGET

#define K2K_ROUTER_TARGET __attribute__((target("avx512f,avx512bw,bmi,lzcnt")))
namespace avx512 {
K2K_ROUTER_TARGET inline std::uint64_t absent64(const std::uint8_t* bytes) {
  return _mm512_testn_epi8_mask(_mm512_loadu_si512(bytes), _mm512_set1_epi8(1));
}
#include "router/plan/scan.inl"
}  // namespace avx512
#undef K2K_ROUTER_TARGET
#endif

constexpr Scan all[] = {
#if defined(__x86_64__)
    {"avx512", avx512::all_runs, avx512::long_runs},
    {"avx2", avx2::all_runs, avx2::long_runs},
#endif
    {"portable", portable::all_runs, portable::long_runs},
};

std::size_t unfit() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool bits = __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("lzcnt") != 0;
  if (!bits || __builtin_cpu_supports("avx2") == 0) return 2;
  return __builtin_cpu_supports("avx512bw") != 0 ? 0 : 1;
#else
  return 0;
#endif
}

}  // namespace

std::span<const Scan> scans() { return std::span(all).subspan(unfit()); }

}  // namespace k2k::router
