#include "io/gpu/stream_copy.hpp"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace k2k::io {

namespace {

constexpr std::size_t line = 64;

// The number of bytes up to the next cache line of `to`.
std::size_t to_line(const std::byte* to, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  return std::min<std::size_t>(bytes, (line - address % line) % line);
}

// The ends, which are no whole lines, by ordinary stores; `lines` takes the whole ones.
template <class Lines>
[[gnu::always_inline]] inline void with_ends(std::byte* to, const std::byte* from,
                                             std::size_t bytes, Lines lines) {
  const std::size_t head = to_line(to, bytes);
  if (head > 0) std::memcpy(to, from, head);
  const std::size_t whole = (bytes - head) / line * line;
  lines(to + head, from + head, whole);
  const std::size_t tail = bytes - head - whole;
  if (tail > 0) std::memcpy(to + head + whole, from + head + whole, tail);
  _mm_sfence();
}

[[gnu::target("avx512f")]] void lines_avx512(std::byte* to, const std::byte* from,
                                             std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += line) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
  }
}

[[gnu::target("avx2")]] void lines_avx2(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += line) {
    const auto* const source = reinterpret_cast<const __m256i*>(from + at);
    auto* const target = reinterpret_cast<__m256i*>(to + at);
    const __m256i low = _mm256_loadu_si256(source);
    const __m256i high = _mm256_loadu_si256(source + 1);
    _mm256_stream_si256(target, low);
    _mm256_stream_si256(target + 1, high);
  }
}

void lines_sse2(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += line) {
    const auto* const source = reinterpret_cast<const __m128i*>(from + at);
    auto* const target = reinterpret_cast<__m128i*>(to + at);
    const __m128i four[] = {_mm_loadu_si128(source), _mm_loadu_si128(source + 1),
                            _mm_loadu_si128(source + 2), _mm_loadu_si128(source + 3)};
    for (std::size_t each = 0; each < 4; ++each) _mm_stream_si128(target + each, four[each]);
  }
}

void copy_avx512(std::byte* to, const std::byte* from, std::size_t bytes) {
  with_ends(to, from, bytes, lines_avx512);
}
void copy_avx2(std::byte* to, const std::byte* from, std::size_t bytes) {
  with_ends(to, from, bytes, lines_avx2);
}
void copy_sse2(std::byte* to, const std::byte* from, std::size_t bytes) {
  with_ends(to, from, bytes, lines_sse2);
}

constexpr std::array<StreamCopyKind, 3> kinds = {
    {{"avx512", copy_avx512}, {"avx2", copy_avx2}, {"sse2", copy_sse2}}};

std::size_t first_kind() {
  if (__builtin_cpu_supports("avx512f")) return 0;
  return __builtin_cpu_supports("avx2") ? 1 : 2;
}

}  // namespace

std::span<const StreamCopyKind> stream_copies() {
  return std::span(kinds).subspan(first_kind());  // Two loads: nothing to be kept.
}

void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  stream_copies().front().copy(to, from, bytes);
}

}  // namespace k2k::io
