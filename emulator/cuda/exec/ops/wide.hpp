#pragma once
// Values of 128 bits: a register has two places, the lower half first. ld, st, atom.cas, atom.exch
// and mov know them; memory.cpp and atomic.cpp decode these.
//
// Accesses are single ones of x86-64: aligned vector moves, and cmpxchg16b.
//
// Threading: a lane's thread.

#include "emulator/cuda/exec/lane.hpp"

namespace k2k::emulator::exec {

void load_wide(Lane& lane, const Op& op);
void store_wide(Lane& lane, const Op& op);
void swap_wide_if(Lane& lane, const Op& op);
void exchange_wide(Lane& lane, const Op& op);
void move_wide(Lane& lane, const Op& op);
// Of op.more: two halves, or four quarters.
void pack_wide(Lane& lane, const Op& op);
void unpack_wide(Lane& lane, const Op& op);

// The halves of a source; an operand of 64 bits or less has no upper one.
struct Wide128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Wide128&) const = default;
};
inline Wide128 wide_bits(const Lane& lane, const Source& source, std::size_t bytes) {
  return {bits_of(lane, source), bytes > 8 ? lane.regs[source.value + 1] : 0};
}
// Both halves at one moment. The address is a multiple of 16.
Wide128 load_16(const std::byte* from);
void store_16(std::byte* to, Wide128 value);
// True if the memory was `expected` and is now `desired`; else `expected` is what it was.
bool exchange_16(std::byte* at, Wide128& expected, Wide128 desired);

}  // namespace k2k::emulator::exec
