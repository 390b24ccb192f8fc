#include "emulator/cuda/exec/ops/wide.hpp"

#include <emmintrin.h>

#include "emulator/cuda/exec/ops/access.hpp"

namespace k2k::emulator::exec {

namespace {

constexpr std::uint64_t wide_bytes = 16;

void put_wide(Lane& lane, std::uint32_t to, Wide128 value) {
  lane.regs[to] = value.low;
  lane.regs[to + 1] = value.high;
}

}  // namespace

// As assembly, so that no compiler makes two accesses of one. x86-64 orders it as an acquire.
Wide128 load_16(const std::byte* from) {
  __m128i both;
  asm volatile("movdqa %1, %0"
               : "=x"(both)
               : "m"(*reinterpret_cast<const __m128i*>(from))
               : "memory");
  return {static_cast<std::uint64_t>(_mm_cvtsi128_si64(both)),
          static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(both, both)))};
}

void store_16(std::byte* to, Wide128 value) {
  const __m128i both =
      _mm_set_epi64x(static_cast<long long>(value.high), static_cast<long long>(value.low));
  asm volatile("movdqa %1, %0" : "=m"(*reinterpret_cast<__m128i*>(to)) : "x"(both) : "memory");
}

bool exchange_16(std::byte* at, Wide128& expected, Wide128 desired) {
  bool done = false;
  asm volatile("lock cmpxchg16b %1\n\tsete %0"
               : "=q"(done), "+m"(*reinterpret_cast<__m128i*>(at)), "+a"(expected.low),
                 "+d"(expected.high)
               : "b"(desired.low), "c"(desired.high)
               : "memory", "cc");
  return done;
}

void load_wide(Lane& lane, const Op& op) {
  const std::byte* const from = reach(lane, op, wide_bytes);
  if (from != nullptr) put_wide(lane, op.to, load_16(from));
}

void store_wide(Lane& lane, const Op& op) {
  std::byte* const to = reach(lane, op, wide_bytes);
  if (to != nullptr) store_16(to, wide_bits(lane, op.b, wide_bytes));
}

void swap_wide_if(Lane& lane, const Op& op) {
  std::byte* const at = reach(lane, op, wide_bytes);
  if (at == nullptr) return;
  Wide128 seen = wide_bits(lane, op.b, wide_bytes);
  exchange_16(at, seen, wide_bits(lane, op.c, wide_bytes));
  put_wide(lane, op.to, seen);
}

void exchange_wide(Lane& lane, const Op& op) {
  std::byte* const at = reach(lane, op, wide_bytes);
  if (at == nullptr) return;
  const Wide128 desired = wide_bits(lane, op.b, wide_bytes);
  Wide128 seen = load_16(at);
  while (!exchange_16(at, seen, desired)) {
  }
  put_wide(lane, op.to, seen);
}

void move_wide(Lane& lane, const Op& op) {
  put_wide(lane, op.to, wide_bits(lane, op.a, wide_bytes));
}

void pack_wide(Lane& lane, const Op& op) {
  Wide128 value;
  if (op.more.size() == 2) {
    value = {bits_of(lane, op.more[0]), bits_of(lane, op.more[1])};
  } else {
    const auto quarter = [&](std::size_t at) { return bits_of(lane, op.more[at]) & 0xffffffff; };
    value = {quarter(0) | quarter(1) << 32, quarter(2) | quarter(3) << 32};
  }
  put_wide(lane, op.to, value);
}

void unpack_wide(Lane& lane, const Op& op) {
  const Wide128 value = wide_bits(lane, op.a, wide_bytes);
  if (op.tos.size() == 2) {
    lane.regs[op.tos[0]] = value.low;
    lane.regs[op.tos[1]] = value.high;
  } else {
    for (std::size_t at = 0; at < 4; ++at) {
      const std::uint64_t half = at < 2 ? value.low : value.high;
      lane.regs[op.tos[at]] = half >> (at % 2 * 32) & 0xffffffff;
    }
  }
  lane.regs[0] = 0;
}

}  // namespace k2k::emulator::exec
