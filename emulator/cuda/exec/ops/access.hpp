#pragma once
// An address of a kernel → memory of the host, after the checks: alignment, bounds, space. All
// accesses are atomic ones of C++, in the order of the instruction; scopes are the strongest here.
//
// Threading: a lane's thread.

#include <cstddef>
#include <cstdint>
#include <string>

#include "emulator/cuda/exec/block.hpp"
#include "emulator/cuda/exec/lane.hpp"
#include "emulator/cuda/ptx/types.hpp"

namespace k2k::emulator::exec {

enum class Order : std::uint32_t { relaxed, acquire, release, acq_rel };

std::byte* outside_near(Lane& lane, std::uint64_t address, std::uint64_t bytes);
std::byte* in_cluster(Lane& lane, std::uint32_t address, std::uint64_t bytes);
std::byte* misaligned(Lane& lane, std::uint64_t address, std::uint64_t bytes);
// An address or an offset, for reports: "0x1f0".
std::string hexadecimal(std::uint64_t value);

// nullptr after a fault.
inline std::byte* reach(Lane& lane, ptx::Space space, std::uint64_t address, std::uint64_t bytes,
                        std::uint64_t align) {
  if ((address & (align - 1)) != 0) return misaligned(lane, address, bytes);
  if (space == ptx::Space::shared) {
    address = static_cast<std::uint32_t>(address);
    const std::uint64_t size = lane.block->grid->shared_bytes;
    if (address > size || bytes > size - address) return outside_near(lane, address, bytes);
    return lane.block->shared_base + address;
  }
  if (space == ptx::Space::cluster) {
    return in_cluster(lane, static_cast<std::uint32_t>(address), bytes);
  }
  if (space == ptx::Space::local) {
    address = static_cast<std::uint32_t>(address);
    const auto size = static_cast<std::uint64_t>(lane.local_end - lane.local);
    if (address < local_begin || address > size || bytes > size - address) {
      return outside_near(lane, address, bytes);
    }
    return lane.local + address;
  }
  if (lane.near.holds(address, bytes)) return reinterpret_cast<std::byte*>(address);
  if (lane.local_range().holds(address, bytes) ||
      lane.block->shared_range().holds(address, bytes)) {
    return reinterpret_cast<std::byte*>(address);
  }
  return outside_near(lane, address, bytes);
}

// Of ld, st, atom, red, mbarrier and ldmatrix: `flags` begins with 4 bits of the Space, and where
// an order matters 2 bits of the Order; `a` and `immediate` are the address.
inline ptx::Space space_in(const Op& op) { return static_cast<ptx::Space>(op.flags & 15); }
inline Order order_in(const Op& op) { return static_cast<Order>(op.flags >> 4 & 3); }
inline std::byte* reach(Lane& lane, const Op& op, std::uint64_t bytes) {
  return reach(lane, space_in(op), bits_of(lane, op.a) + op.immediate, bytes, bytes);
}

template <class Word>
Word load_word(const std::byte* from, Order order) {
  const auto* const word = reinterpret_cast<const Word*>(from);
  return order == Order::acquire ? __atomic_load_n(word, __ATOMIC_ACQUIRE)
                                 : __atomic_load_n(word, __ATOMIC_RELAXED);
}
template <class Word>
void store_word(std::byte* to, Word value, Order order) {
  auto* const word = reinterpret_cast<Word*>(to);
  if (order == Order::release) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
  }
}

// Copies of memory that other threads may access meanwhile: each word is loaded and stored as a
// lane's. The words are of 8 bytes where both ranges are aligned to them, else of 4, else bytes.
// The ranges may overlap.
void copy_words(std::byte* to, const std::byte* from, std::size_t bytes);
void zero_words(std::byte* to, std::size_t bytes);

}  // namespace k2k::emulator::exec
