#pragma once
// The state of one compute unit's work-items, waves and work-groups.
//
// Plain data in preallocated rows: a group that ends leaves its row to the next. The rules that
// move the states are in turns.hpp and waiters.hpp, the rules of the meetings of a group and of
// a wave in meeting.cpp.
//
//                      ┌──────────── yield ───────────┐
//                      ▼                              │
//   (admitted) ──▶  ready ──────────▶ running ────────┼──▶ done
//                      ▲                              │
//                      ├── all live members came ── at_barrier, at_ballot
//                      ├── lane has its answer ──── at_page
//                      ├── slot finished ─────────── polling
//                      └── wave resumed, finished ── halted
//
// Threading: confined to the unit's thread. Not instrumented for ThreadSanitizer.

#include <cstddef>
#include <cstdint>

#include "backend/cpu/fibre/fibre_pool.hpp"
#include "backend/cpu/fibre/sanitizers.hpp"
#include "device/platform/cpu.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::cpu {

class Turns;
class Unit;
class Waiters;
struct Group;
struct Wave;

enum class ItemState : std::uint8_t {
  ready,
  running,
  at_barrier,
  at_ballot,
  at_page,
  polling,
  halted,
  done
};

struct WorkItem {
  device::platform::Item visible;  // The kernel's view: current().
  Unit* unit = nullptr;
  Group* group = nullptr;
  Wave* wave = nullptr;
  Fibre* fibre = nullptr;                // From its first turn to its last.
  const protocol::Slot* slot = nullptr;  // Waited for while polling or halted.
  WorkItem* next = nullptr;              // In a list of halted work-items, or of those at a page.
  std::uint64_t answer = 0;              // Of the last meeting of its wave.
  ItemState state = ItemState::ready;
  bool yielded = false;               // Ready because it yielded, not because a wait of it is over.
  std::uint8_t fault_next = 0;        // Of its wave's list (Wave::fault_lists); 0: the last one.
  std::uintptr_t fault_page = 0;      // While it asks for a page.
  WorkItem* fault_sharers = nullptr;  // Lanes that wait until it has that page.
};

// The purpose of a meeting of a wave's lanes: one meeting has one kind.
enum class Meeting : std::uint8_t { none, ballot, shuffle, gather };

// One resident wave; its index in the unit is its row in the syscall area.
struct Wave {
  // The hooks of device code, on the fibre of `me`, a lane of this wave.
  std::uint64_t ballot(Turns& turns, WorkItem& me, bool predicate) noexcept;
  std::uint64_t shuffle(Turns& turns, WorkItem& me, std::uint64_t value,
                        std::uint32_t lane) noexcept;
  void gather(Turns& turns, Waiters& waiters, WorkItem& me, void* brought,
              device::platform::Lead lead, bool polls) noexcept;
  // A lane ended and no longer counts; perhaps the others waited for it alone.
  K2K_ALWAYS_INLINE void count_out(Turns& turns, const WorkItem& item) {
    live &= ~(std::uint64_t{1} << item.visible.lane);
    if (arrived != 0 && arrived == live) close_without(turns);
  }

  WorkItem* first = nullptr;  // Lane 0's.
  std::uint64_t live = 0;     // Lanes that have not ended.
  std::uint64_t arrived = 0;
  std::uint64_t predicates = 0;
  Meeting meeting = Meeting::none;
  std::uint32_t meetings = 0;
  EdgeToken edges[2] = {};  // Of even and odd meetings: see Group::edges.
  std::uint64_t values[protocol::wave_lanes_max] = {};
  std::uint32_t lanes_wanted[protocol::wave_lanes_max] = {};
  // Lanes that ask for a missing page, by its address: lane + 1 of the first one; 0: none
  // (fault_signal.cpp).
  std::uint8_t fault_lists[64] = {};

 private:
  void join(Meeting kind);
  std::uint64_t meet(Turns& turns, WorkItem& me, Meeting kind);
  void close(Turns& turns);
  void close_without(Turns& turns);
  void dismiss(Turns& turns, Waiters& waiters, const WorkItem& leader, const protocol::Slot* row);
  void end_meeting();
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
  // The hook of device code, on the fibre of `me`, a work-item of this group.
  void barrier(Turns& turns, WorkItem& me) noexcept;
  // A work-item ended and no longer counts; perhaps the others waited for it alone.
  K2K_ALWAYS_INLINE void count_out(Turns& turns) {
    --live;
    if (arrived != 0 && arrived == live) open_without(turns);
  }

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

 private:
  void open_barrier(Turns& turns);
  void open_without(Turns& turns);
};

}  // namespace k2k::backend::cpu
