#pragma once
// Claims of slots, by lock words in device memory.
//
// A lock word holds one bit for each lane of one row, so one compare-exchange claims a whole wave.
// The wave id is a hint, never an assumption: a claimer takes another slot if its own is taken, or
// still owned by the host after a detached call. The lock is released when the result was consumed,
// or at publication for a detached call (then the state guards the slot).

#include <cstdint>

#include "base/bits.hpp"
#include "protocol/area.hpp"

namespace k2k::protocol {

// Clears `lanes` in the row's lock word. The caller holds them.
K2K_HD inline void unlock(const AreaView& area, std::uint32_t wave, std::uint64_t lanes) {
  device_clear(area.device_scope, &area.locks[wave], lanes);
}

// Locks all of `lanes` of the row, or none. Accesses only device memory.
K2K_HD inline bool try_lock(const AreaView& area, std::uint32_t wave, std::uint64_t lanes) {
  // One lane may set its bit unconditionally: if the bit was set already, nothing has changed. So
  // lanes of a GPU's wave that call separately do not wait for one another.
  if ((lanes & (lanes - 1)) == 0) {
    return (device_or(area.device_scope, &area.locks[wave], lanes) & lanes) == 0;
  }
  std::uint64_t seen = device_load(&area.locks[wave]);
  while ((seen & lanes) == 0) {
    if (device_compare_exchange(area.device_scope, &area.locks[wave], seen, seen | lanes)) {
      return true;
    }
    seen = device_load(&area.locks[wave]);
  }
  return false;
}

// What the holder of a slot's lock finds there. Both words are read at once: on a GPU they are
// across the bus. Only holders of the lock write the generation.
struct Found {
  std::uint32_t generation = 0;
  bool open = false;  // False until the host has retired a detached call.
};
K2K_HD inline Found look_at(const Slot& slot) {
  Found found;
  found.generation = load_hint(&slot.generation);
  found.open = observe(slot).state == SlotState::free;
  return found;
}

// Called by the holder of the lock of a free slot, with the generation that it found there: begins
// a new one and returns its number.
K2K_HD inline std::uint32_t take(Slot& slot, std::uint32_t found) {
  const std::uint32_t generation = found + 1;
  // A reader of the new generation must also see all effects of the previous one: loan_ended()'s
  // acquire. All its readers are device code.
  device_store(&slot.generation, generation);
  move<SlotState::free, SlotState::populating, Side::device>(slot);
  return generation;
}

// Locks all of `lanes` of the row and moves their slots to populating, or changes nothing.
K2K_SHARED_CODE K2K_HD inline bool try_claim(const AreaView& area, std::uint32_t wave,
                                             std::uint64_t lanes) {
  if (!try_lock(area, wave, lanes)) return false;
  for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
    if (look_at(area.slot(wave, lowest_bit(left))).open) continue;
    unlock(area, wave, lanes);
    return false;
  }
  for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
    Slot& slot = area.slot(wave, lowest_bit(left));
    take(slot, load_hint(&slot.generation));
  }
  return true;
}

struct Place {
  std::uint32_t wave = 0;
  std::uint32_t lane = 0;
};

// Rows that one attempt tries before the caller lets others run.
inline constexpr std::uint32_t claim_rows_max = 64;

// Claims the slot at `place` and returns its generation.
K2K_SHARED_CODE K2K_HD inline bool try_claim_slot(const AreaView& area, Place place,
                                                  std::uint32_t& generation) {
  const std::uint64_t lane = std::uint64_t{1} << place.lane;
  if (!try_lock(area, place.wave, lane)) return false;
  Slot& slot = area.slot(place.wave, place.lane);
  const Found found = look_at(slot);
  if (!found.open) {
    unlock(area, place.wave, lane);
    return false;
  }
  generation = take(slot, found.generation);
  return true;
}

// Claims one slot: home first, then its row, then the rows after it. On failure, `home.wave` is
// advanced, so that repeated attempts try the whole area.
K2K_SHARED_CODE K2K_HD inline bool try_claim_one(const AreaView& area, Place& home,
                                                 std::uint32_t& generation) {
  if (try_claim_slot(area, home, generation)) return true;
  const std::uint64_t row_mask =
      area.wave_lanes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << area.wave_lanes) - 1;
  for (std::uint32_t row = 0; row < claim_rows_max && row < area.wave_count; ++row) {
    std::uint64_t open = ~device_load(&area.locks[home.wave]) & row_mask;
    for (std::uint32_t lane = 0; open != 0 && lane < area.wave_lanes; ++lane) {
      if ((open >> lane & 1) == 0) continue;
      if (!try_claim_slot(area, {home.wave, lane}, generation)) continue;
      home.lane = lane;
      return true;
    }
    home.wave = home.wave + 1 == area.wave_count ? 0 : home.wave + 1;
  }
  return false;
}

K2K_HD inline bool try_claim_one(const AreaView& area, Place& home) {
  std::uint32_t generation = 0;
  return try_claim_one(area, home, generation);
}

// --- Arena blocks. A lent word is 0: free, 1: owned by a lane, or names the detached call that
// borrowed the block; any claimer that sees that call ended may then take the block.

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
  // Reads the slot first: once retired, it stays so until a claim raises the generation, and an
  // observer of a state of the next life also sees its generation.
  return observe(slot).state == SlotState::free ||
         load_acquire(&slot.generation) != static_cast<std::uint32_t>(lent >> 32);
}

// Returns a free block's index, or arena_blocks if none is free now. Tries every block, from `hint`
// on.
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

// --- Tickets. The holder of a ticket may make other calls before it redeems the ticket. So tickets
// hold at most half of the slots and half of the blocks. The other half serves calls that wait only
// for the host and therefore always return their slots.

// Counts a ticket that holds a slot and possibly a block. Returns false at the limit.
K2K_HD inline bool admit_ticket(const AreaView& area, bool with_block) {
  constexpr std::uint64_t one = 1;
  constexpr auto minus_one = static_cast<std::uint64_t>(-1);
  const std::uint64_t slots = static_cast<std::uint64_t>(area.wave_count) * area.wave_lanes;
  if (device_add(area.device_scope, &area.tickets[0], one) >= slots / 2) {
    device_add(area.device_scope, &area.tickets[0], minus_one);
    return false;
  }
  if (with_block && device_add(area.device_scope, &area.tickets[1], one) >= area.arena_blocks / 2) {
    device_add(area.device_scope, &area.tickets[1], minus_one);
    device_add(area.device_scope, &area.tickets[0], minus_one);
    return false;
  }
  return true;
}

K2K_HD inline void return_ticket(const AreaView& area, bool with_block) {
  constexpr auto minus_one = static_cast<std::uint64_t>(-1);
  device_add(area.device_scope, &area.tickets[0], minus_one);
  if (with_block) device_add(area.device_scope, &area.tickets[1], minus_one);
}

}  // namespace k2k::protocol
