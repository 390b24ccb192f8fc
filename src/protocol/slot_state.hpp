#pragma once
// Life of a slot, the unit of exchange between a work-item and the host (thesis, figure 3.6).
//
//         claim            submit          accept            complete
//   free ───────▶ populating ──────▶ ready ──────▶ processing ────────▶ finished
//     ▲                                                │                    │
//     ├────────────── retire (detached) ◀──────────────┘                    │
//     └────────────── release ◀─────────────────────────────────────────────┘
//
// Every state has one owner, and only the owner moves the slot on. A move releases and its observer
// acquires, both at system scope. Only claim is contended; a compare-exchange on a lock word in
// device memory decides it, never one on the slot itself.

#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::protocol {

enum class Side : std::uint8_t { device, host };
enum class SlotState : std::uint8_t { free, populating, ready, processing, finished };
inline constexpr int slot_state_count = 5;

struct SlotTransition {
  SlotState from;
  SlotState to;
  Side by;
};

inline constexpr SlotTransition slot_transitions[] = {
    {SlotState::free, SlotState::populating, Side::device},    // Claim: one work-item won.
    {SlotState::populating, SlotState::ready, Side::device},   // Submit: arguments are visible.
    {SlotState::ready, SlotState::processing, Side::host},     // Accept: arguments are copied.
    {SlotState::processing, SlotState::finished, Side::host},  // Complete: the result is visible.
    {SlotState::processing, SlotState::free, Side::host},      // Retire: no work-item waits.
    {SlotState::finished, SlotState::free, Side::device},      // Release: the result was consumed.
};

K2K_HD constexpr bool may_move(SlotState from, SlotState to, Side by) {
  for (const SlotTransition& allowed : slot_transitions) {
    if (allowed.from == from && allowed.to == to && allowed.by == by) return true;
  }
  return false;
}

// The only side that may move a slot out of `state`.
K2K_HD constexpr Side owner_of(SlotState state) {
  const bool host_owns = state == SlotState::ready || state == SlotState::processing;
  return host_owns ? Side::host : Side::device;
}

}  // namespace k2k::protocol
