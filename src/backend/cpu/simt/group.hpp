#pragma once
// What one compute unit knows of its work-items, waves and work-groups.
//
// Plain data in preallocated rows: a group that ends leaves its row to the next. The rules that
// move the states are in unit.cpp (scheduling) and meeting.cpp (barrier, ballot, shuffle).
//
//                      ┌──────────── yield ───────────┐
//                      ▼                              │
//   (admitted) ──▶  ready ──────────▶ running ────────┼──▶ done
//                      ▲                              │
//                      ├── all live members came ── at_barrier, at_ballot
//                      ├── slot finished ─────────── polling
//                      └── wave resumed, finished ── halted
//
// Threading: confined to the unit's thread. Not instrumented for ThreadSanitizer.

#include <cstddef>
#include <cstdint>

#include "backend/cpu/simt/fibre_pool.hpp"
#include "backend/cpu/simt/sanitizers.hpp"
#include "device/platform/cpu.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::cpu {

class Unit;
struct Group;
struct Wave;

enum class ItemState : std::uint8_t {
  ready,
  running,
  at_barrier,
  at_ballot,
  polling,
  halted,
  done
};

struct WorkItem {
  device::platform::Item visible;  // What the kernel sees: current().
  Unit* unit = nullptr;
  Group* group = nullptr;
  Wave* wave = nullptr;
  Fibre* fibre = nullptr;                // From its first turn to its last.
  const protocol::Slot* slot = nullptr;  // Waited for while polling or halted.
  WorkItem* next = nullptr;              // In a list of halted work-items.
  std::uint64_t answer = 0;              // Of the last meeting of its wave.
  ItemState state = ItemState::ready;
  bool yielded = false;  // Ready because it yielded, not because a wait of it is over.
};

// What the lanes of a wave meet for: the kinds cannot be mixed in one meeting.
enum class Meeting : std::uint8_t { none, ballot, shuffle, gather };

// One resident wave; its index in the unit is its row in the syscall area.
struct Wave {
  WorkItem* first = nullptr;  // Lane 0's.
  std::uint64_t live = 0;     // Lanes that have not ended.
  std::uint64_t arrived = 0;
  std::uint64_t predicates = 0;
  Meeting meeting = Meeting::none;
  std::uint32_t meetings = 0;
  EdgeToken edges[2] = {};  // Of even and odd meetings: see Group::edges.
  std::uint64_t values[protocol::wave_lanes_max] = {};
  std::uint32_t lanes_asked[protocol::wave_lanes_max] = {};
};

struct LocalVariable {
  const void* tag = nullptr;
  std::byte* memory = nullptr;
};
inline constexpr std::uint32_t local_variables_max = 32;

// The first bytes of a group's local memory belong to the device library: Item::scratch. Variables
// begin with the page behind, so that a large one is whole pages, which files are read into
// directly.
inline constexpr std::size_t scratch_bytes = 64;
inline constexpr std::size_t variables_begin = page_bytes;

struct Group {
  std::uint32_t id = 0;
  std::uint32_t items = 0;
  std::uint32_t live = 0;
  std::uint32_t arrived = 0;  // At the barrier.
  std::uint32_t barriers = 0;
  // Early work-items of the next barrier arrive before late ones have left this one, so two
  // neighbouring barriers have a token each; no more than two are ever in use.
  EdgeToken edges[2] = {};
  WorkItem* first = nullptr;
  Group* next_free = nullptr;
  std::byte* local = nullptr;
  std::size_t local_used = 0;
  std::uint32_t local_variables = 0;
  LocalVariable variables[local_variables_max] = {};
};

}  // namespace k2k::backend::cpu
