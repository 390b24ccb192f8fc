#pragma once
// Runs the share of a unit in a launch: its resident work-items in turn, until none is left.
//
//   admit ──▶ [turns] ──▶ run ──▶ barrier, ballot ─┐
//                ▲          ├─▶ polling, halted ───┤   nothing ready: poll, spin, sleep
//                └──────────┴──────────────────────┘
//
// Its parts own the state: the order of turns (turns.hpp), the groups that live here
// (residents.hpp), the work-items that wait for the host (waiters.hpp), the time since a work-item
// was ready (idleness.hpp), and the requests that the unit serves itself (inline_role.hpp).
//
// Threading: the unit's thread. Not instrumented for ThreadSanitizer (sanitizers.hpp).

#include <cstddef>
#include <cstdint>

#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/launch_state.hpp"
#include "backend/cpu/simt/group.hpp"
#include "backend/cpu/simt/idleness.hpp"
#include "backend/cpu/simt/inline_role.hpp"
#include "backend/cpu/simt/residents.hpp"
#include "backend/cpu/simt/turns.hpp"
#include "backend/cpu/simt/unit_plan.hpp"
#include "backend/cpu/simt/wait_report.hpp"
#include "backend/cpu/simt/waiters.hpp"

namespace k2k::backend::cpu {

class Scheduler {
 public:
  // Of `unit`; `stacks` and `local` are its part of the device's private memory.
  Scheduler(Unit& unit, std::uint32_t index, const UnitPlan& plan, LaunchState& launch,
            std::byte* stacks, std::byte* local);
  [[nodiscard]] bool usable() const;

  void run_launch();

  // The hook of device code: on the fibre of `me`, until `slot` is finished or the runtime closes.
  void wait(WorkItem& me, const protocol::Slot& slot, bool halting) noexcept;

  [[nodiscard]] K2K_ALWAYS_INLINE Turns& turns() { return turns_; }
  [[nodiscard]] K2K_ALWAYS_INLINE const Turns& turns() const { return turns_; }
  [[nodiscard]] K2K_ALWAYS_INLINE Waiters& waiters() { return waiters_; }
  [[nodiscard]] K2K_ALWAYS_INLINE const InlineRole& role() const { return role_; }
  [[nodiscard]] K2K_ALWAYS_INLINE const Idleness& idleness() const { return idleness_; }

 private:
  void run_items();
  void run_item(WorkItem& item);
  void end_item(WorkItem& item);
  void go_on(WorkItem& item);
  bool serve_now(WorkItem& item);
  void admit();
  void abandon_all();

  bool poll(Polls how = Polls::as_it_pays);
  bool wait_in_place(const protocol::Slot& slot);
  void idle();
  bool serve_idle();
  void sleep();

  const std::uint32_t index_;
  const UnitPlan& plan_;
  LaunchState& launch_;
  Turns turns_;
  Idleness idleness_;
  InlineRole role_;
  Residents residents_;
  WaitReport reports_;
  Waiters waiters_;
};

}  // namespace k2k::backend::cpu
