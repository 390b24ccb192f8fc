#pragma once
// The syscall area: the memory that one device and one host share, as plain pointers.
//
//   slots   waves × lanes slots, row w = the slots of wave w        host-visible   64 B each
//   rings   one or more doorbell rings; wave w rings w % ring_count  host-visible
//   arena   blocks for buffers that the host cannot read in place    host-visible
//   locks   one bit per slot, row w in one word                      device memory
//   lent    one word per block: its owner                            device memory
//   tickets the number of slots and of blocks that tickets hold      device memory
//
// A backend allocates the memory; kernels and the server receive this view.

#include <cstddef>
#include <cstdint>

#include "protocol/doorbell.hpp"
#include "protocol/layout.hpp"
#include "protocol/slot.hpp"

namespace k2k::protocol {

inline constexpr std::uint32_t wave_lanes_max = 64;
inline constexpr std::uint32_t ring_count_max = 8;
// A block carries one path (4,096 bytes), or a clamped buffer beside a socket address.
inline constexpr std::uint32_t arena_block_bytes = 8192;
// AreaView::tickets: slots held, blocks held.
inline constexpr std::uint32_t ticket_words = 2;

struct AreaView {
  Slot* slots = nullptr;
  std::uint64_t* locks = nullptr;
  std::uint32_t wave_count = 0;
  std::uint32_t wave_lanes = 0;  // 32 or 64.
  DeviceScope device_scope = DeviceScope::many_threads;

  DoorbellRing rings[ring_count_max] = {};
  std::uint32_t ring_count = 0;

  std::byte* arena = nullptr;
  std::uint64_t* lent = nullptr;
  std::uint32_t arena_blocks = 0;
  std::uint64_t* tickets = nullptr;

  std::uint32_t* closed = nullptr;  // Host-visible; 1 = the server has ended.

  K2K_HD Slot& slot(std::uint32_t wave, std::uint32_t lane) const {
    return slots[static_cast<std::uint64_t>(wave) * wave_lanes + lane];
  }
  K2K_HD const DoorbellRing& ring_of(std::uint32_t wave) const {
    return rings[ring_count == 1 ? 0 : wave % ring_count];
  }
};

// A hash of every size and offset that device and host must agree on.
namespace detail {
inline constexpr std::uint64_t layout_facts[] = {
    sizeof(Slot),          offsetof(Slot, control), offsetof(Slot, attributes),
    offsetof(Slot, stamp), argument_count,          offsetof(Slot, generation),
    sizeof(DoorbellEntry), sizeof(DoorbellRing),    offsetof(Slot, arguments),
    sizeof(AreaView),      arena_block_bytes,       offsetof(DoorbellEntry, head),
    wave_lanes_max,
};
K2K_HD constexpr std::uint64_t hash_of_layout() {
  std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a, one word per step.
  for (const std::uint64_t fact : layout_facts) hash = (hash ^ fact) * 0x100000001b3ull;
  return hash;
}
}  // namespace detail
static_assert(layout_hash == detail::hash_of_layout(),
              "the layout is another: raise version and renew layout_hash in protocol/layout.hpp");

}  // namespace k2k::protocol
