#include "backend/sweep.hpp"

#include <thread>

#include "base/bits.hpp"
#include "base/units.hpp"
#include "calls/rows.hpp"
#include "protocol/claim.hpp"

namespace k2k::backend {

namespace {

using protocol::AreaView;
using protocol::Side;
using protocol::Slot;
using protocol::SlotState;

constexpr Nanoseconds look_again_after = std::chrono::microseconds(50);

bool closed(const AreaView& area) {
  return protocol::load_acquire(area.closed) != 0;  // Pairs with the server's close().
}

// A slot that was claimed but not submitted can leave the device only through the host. No
// doorbell: the server's rescan finds it.
void retire_claim(Slot& slot) {
  protocol::store_hint(
      &slot.attributes,
      pack(protocol::Attributes{protocol::Scope::work_item, protocol::flag::detached, 0, 0}));
  slot.stamp = 0;
  protocol::move<SlotState::populating, SlotState::ready, Side::device>(slot, calls::nop_number);
}

// True if the slot held a ticket that was not redeemed.
bool settle(const AreaView& area, Slot& slot) {
  SlotState state = observe(slot).state;
  if (state == SlotState::populating) {
    retire_claim(slot);
    return false;
  }
  for (; state != SlotState::finished && state != SlotState::free; state = observe(slot).state) {
    if (closed(area)) return false;
    std::this_thread::sleep_for(look_again_after);
  }
  if (state == SlotState::free) return false;
  const bool ticket =
      (protocol::unpack_attributes(slot.attributes).flags & protocol::flag::async) != 0;
  protocol::move<SlotState::finished, SlotState::free, Side::device>(slot);
  return ticket;
}

}  // namespace

std::uint32_t sweep(const AreaView& area) {
  std::uint32_t unredeemed = 0;
  for (std::uint32_t wave = 0; wave < area.wave_count; ++wave) {
    const std::uint64_t locked = protocol::device_load(&area.locks[wave]);
    if (locked == 0) continue;
    for (std::uint64_t left = locked; left != 0; left &= left - 1) {
      const std::uint32_t lane = lowest_bit(left);
      unredeemed += settle(area, area.slot(wave, lane)) ? 1 : 0;
    }
    protocol::unlock(area, wave, locked);
  }
  // No work-item is left to own a block; blocks lent to detached calls are returned by themselves.
  for (std::uint32_t block = 0; block < area.arena_blocks; ++block) {
    if (protocol::device_load(&area.lent[block]) != protocol::block_owned) continue;
    protocol::give_block(area, block, protocol::block_free);
  }
  for (std::uint32_t word = 0; word < protocol::ticket_words; ++word) {
    protocol::device_store(&area.tickets[word], std::uint64_t{0});
  }
  return unredeemed;
}

}  // namespace k2k::backend
