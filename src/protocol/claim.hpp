#pragma once
// Who may write a slot: claims on the lock words in device memory.
//
// A lock word holds a bit a lane of one row, so a whole wave is claimed by one compare-exchange.
// The wave id is a hint, never an assumption: a claimer that finds its own slot taken, or still in
// the host's hands after a detached call, takes another. The lock is given up when the result was
// consumed, or at publication for a detached call (then the state guards the slot).

#include <cstdint>

#include "base/bits.hpp"
#include "protocol/area.hpp"

namespace k2k::protocol {

// Clears `lanes` in the row's lock word. The caller holds them.
K2K_HD inline void unlock(const AreaView& area, std::uint32_t wave, std::uint64_t lanes) {
  std::uint64_t seen = device_load(&area.locks[wave]);
  while (!device_compare_exchange(area.device_scope, &area.locks[wave], seen, seen & ~lanes)) {
    seen = device_load(&area.locks[wave]);
  }
}

// Locks all of `lanes` of the row and moves their slots to populating, or nothing.
K2K_SHARED_CODE K2K_HD inline bool try_claim(const AreaView& area, std::uint32_t wave,
                                             std::uint64_t lanes) {
  std::uint64_t seen = device_load(&area.locks[wave]);
  do {
    if ((seen & lanes) != 0) return false;
    if (device_compare_exchange(area.device_scope, &area.locks[wave], seen, seen | lanes)) break;
    seen = device_load(&area.locks[wave]);
  } while (true);
  for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
    if (observe(area.slot(wave, lowest_bit(left))).state == SlotState::free) continue;
    unlock(area, wave, lanes);  // The host has not retired a detached call yet.
    return false;
  }
  for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
    Slot& slot = area.slot(wave, lowest_bit(left));
    store_release(&slot.generation, slot.generation + 1);  // Read by loan_ended().
    move<SlotState::free, SlotState::populating, Side::device>(slot);
  }
  return true;
}

struct Place {
  std::uint32_t wave = 0;
  std::uint32_t lane = 0;
};

// Rows one attempt looks at before the caller lets others run.
inline constexpr std::uint32_t claim_rows_max = 64;

// Claims one slot: home first, then its row, then the rows after it. On failure `home.wave` has
// moved on, so that repeated attempts visit the whole area.
K2K_SHARED_CODE K2K_HD inline bool try_claim_one(const AreaView& area, Place& home) {
  if (try_claim(area, home.wave, std::uint64_t{1} << home.lane)) return true;
  const std::uint64_t row_mask =
      area.wave_lanes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << area.wave_lanes) - 1;
  for (std::uint32_t row = 0; row < claim_rows_max && row < area.wave_count; ++row) {
    std::uint64_t open = ~device_load(&area.locks[home.wave]) & row_mask;
    for (std::uint32_t lane = 0; open != 0 && lane < area.wave_lanes; ++lane) {
      if ((open >> lane & 1) == 0) continue;
      if (!try_claim(area, home.wave, std::uint64_t{1} << lane)) continue;
      home.lane = lane;
      return true;
    }
    home.wave = home.wave + 1 == area.wave_count ? 0 : home.wave + 1;
  }
  return false;
}

// --- Arena blocks. A lent word is 0 = free, 1 = owned by a lane, or names the detached call that
// borrowed the block; then whoever sees that call ended may take it.

inline constexpr std::uint64_t block_free = 0;
inline constexpr std::uint64_t block_owned = 1;

// generation:32 | row:20 | lane:6 | 1:1 | 0:1. Row 2^20 is beyond any device.
K2K_HD constexpr std::uint64_t lent_to(Place place, std::uint32_t generation) {
  return static_cast<std::uint64_t>(generation) << 32 |
         static_cast<std::uint64_t>(place.wave) << 8 | static_cast<std::uint64_t>(place.lane) << 2 |
         2;
}

K2K_HD inline bool loan_ended(const AreaView& area, std::uint64_t lent) {
  const Place place{static_cast<std::uint32_t>(lent >> 8 & 0xffffff),
                    static_cast<std::uint32_t>(lent >> 2 & 0x3f)};
  const Slot& slot = area.slot(place.wave, place.lane);
  // The slot is looked at first: once retired it stays so until a claim raises the generation.
  return observe(slot).state == SlotState::free ||
         load_acquire(&slot.generation) != static_cast<std::uint32_t>(lent >> 32);
}

// A free block's index, or arena_blocks if none is free now. Looks at every block, from `hint` on.
K2K_HD inline std::uint32_t try_take_block(const AreaView& area, std::uint32_t hint) {
  for (std::uint32_t step = 0; step < area.arena_blocks; ++step) {
    const std::uint32_t block = (hint + step) % area.arena_blocks;
    const std::uint64_t seen = device_load(&area.lent[block]);
    if (seen == block_owned || (seen != block_free && !loan_ended(area, seen))) continue;
    if (device_compare_exchange(area.device_scope, &area.lent[block], seen, block_owned))
      return block;
  }
  return area.arena_blocks;
}

K2K_HD inline void give_block(const AreaView& area, std::uint32_t block, std::uint64_t to) {
  device_store(&area.lent[block], to);
}

}  // namespace k2k::protocol
