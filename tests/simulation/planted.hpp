#pragma once
// The device's side of a call with one planted mistake. Each mistake differs from the shipped code
// (device/submit.hpp, protocol/claim.hpp, protocol/doorbell.hpp) in the lines guarded by its `if`.
//
// Threading: on the fibre of a work-item.

#include <cstdint>

#include "device/submit.hpp"
#include "tests/simulation/scenario.hpp"

namespace k2k::simulation::planted {

inline bool claim_blindly(const protocol::AreaView& area, protocol::Place place,
                          std::uint32_t& generation) {
  const std::uint64_t lane = std::uint64_t{1} << place.lane;
  const std::uint64_t seen = protocol::device_load(&area.locks[place.wave]);
  if ((seen & lane) != 0) return false;
  if (!protocol::device_compare_exchange(&area.locks[place.wave], seen, seen | lane)) return false;
  protocol::Slot& slot = area.slot(place.wave, place.lane);
  generation = protocol::take(slot, protocol::load_hint(&slot.generation));
  return true;
}

inline void ring(Bug bug, const protocol::AreaView& area, std::uint32_t wave, std::uint64_t lanes) {
  const protocol::DoorbellRing& ring = area.ring_of(wave);
  const std::uint64_t ticket = protocol::take_ticket(ring);
  while (!protocol::may_ring(ring, ticket)) {
    if (device::closed(area)) return;
    device::platform::yield();
  }
  if (bug != Bug::head_before_lanes) {
    protocol::ring(ring, ticket, wave, lanes);
    return;
  }
  protocol::DoorbellEntry& entry = ring.entries[ticket & (ring.entry_count - 1)];
  protocol::store_release(&entry.head, protocol::doorbell_head(ticket, ring.entry_count, wave));
  entry.lanes = lanes;
}

inline void publish(Bug bug, const protocol::AreaView& area, protocol::Place place,
                    protocol::Attributes attributes, std::uint16_t number,
                    const device::Words& arguments) {
  using protocol::Side;
  using protocol::SlotState;
  if (bug != Bug::ready_before_arguments) {
    device::publish(area, place, attributes, number, arguments, device::platform::stamp());
    return;
  }
  protocol::Slot& slot = area.slot(place.wave, place.lane);
  slot.attributes = pack(attributes);
  protocol::move<SlotState::populating, SlotState::ready, Side::device>(slot, number);
  for (int index = 0; index < protocol::argument_count; ++index) {
    slot.arguments[index] = arguments.word[index];
  }
  if ((attributes.flags & protocol::flag::detached) != 0) {
    protocol::unlock(area, place.wave, std::uint64_t{1} << place.lane);
  }
}

inline Reply finish(Bug bug, const protocol::AreaView& area, const device::Handle& handle) {
  if (bug != Bug::unlock_before_free) {
    return device::finish(area, handle, device::platform::Wait::polling);
  }
  protocol::Slot& slot = area.slot(handle.place.wave, handle.place.lane);
  device::platform::wait(slot, device::platform::Wait::polling);
  const protocol::Control control = observe(slot);
  if (control.state != protocol::SlotState::finished) return device::shut_down();
  const Reply reply(static_cast<std::int64_t>(slot.arguments[0]), control.error);
  protocol::unlock(area, handle.place.wave, std::uint64_t{1} << handle.place.lane);
  protocol::move<protocol::SlotState::finished, protocol::SlotState::free, protocol::Side::device>(
      slot);
  return reply;
}

// A call, blocking or detached.
inline Reply call(Bug bug, std::uint16_t number, bool detached, const device::Words& arguments) {
  const device::platform::Item& me = device::platform::current();
  const protocol::AreaView& area = *me.area;
  device::Handle handle{{me.wave, me.lane}, 0, device::Handle::untimed};
  protocol::Place& place = handle.place;
  while (!(bug == Bug::claim_ignores_state
               ? claim_blindly(area, place, handle.generation)
               : protocol::try_claim_one(area, place, handle.generation))) {
    if (device::closed(area)) return device::shut_down();
    device::platform::yield();
  }
  const protocol::Attributes attributes{
      protocol::Scope::work_item, detached ? protocol::flag::detached : std::uint8_t{0}, 0, 0};
  publish(bug, area, place, attributes, number, arguments);
  ring(bug, area, place.wave, std::uint64_t{1} << place.lane);
  return detached ? Reply(0) : finish(bug, area, handle);
}

}  // namespace k2k::simulation::planted
