#pragma once
// The pre-processing stage of a staged bottom half, as a state machine: whether a thread has the
// stage, and whether a new bundle must wake it. The moves are a table; the owner of the state
// (split_queue.hpp) carries out the answers.
//
//             open            take              idle             ring
//      off ─────────▶ vacant ──────▶ working ─────────▶ resting ──────▶ rung ── wake ─▶ working
//       ▲ ▲            │ close        │ close            │ close        │ close
//       │ └────────────┘              ▼                  ▼ rouse        ▼
//       └────────── idle ────────── leaving ◀────────────┴──────────────┘
//
// Merging: a bundle that arrives while the thread works, or after another bundle has rung, wakes no
// thread. The thread takes all waiting bundles.
//
// Threading: under the lock of its owner.

#include <cstdint>

#include "base/contract.hpp"

namespace k2k::server {

enum class StagePhase : std::uint8_t {
  off,      // The bottom half is not staged: the pool accepts bundles.
  vacant,   // No thread has the stage.
  working,  // Its thread pre-processes.
  resting,  // Its thread sleeps.
  rung,     // A bundle has woken its thread, which does not run yet.
  leaving,  // Its thread leaves once no bundle waits.
};
inline constexpr int stage_phases = 6;

enum class StageEvent : std::uint8_t {
  open,   // The configuration has a staged bottom half, and serving begins.
  close,  // Serving pauses or ends.
  take,   // A thread of the pool takes the stage.
  ring,   // A bundle was added.
  idle,   // Its thread found no bundle.
  wake,   // Its thread runs after it was rung.
};
inline constexpr int stage_events = 6;

// The thread that a move must wake.
enum class StageWake : std::uint8_t {
  nobody,
  pool,   // A thread of the pool: it accepts the bundle, or takes the stage.
  stage,  // The thread of the stage.
};

struct StageMove {
  StagePhase from;
  StageEvent event;
  StagePhase to;
  StageWake wake;
};

// Every permitted move. All others are mistakes.
inline constexpr StageMove stage_moves[] = {
    {StagePhase::off, StageEvent::open, StagePhase::vacant, StageWake::nobody},
    {StagePhase::off, StageEvent::close, StagePhase::off, StageWake::nobody},
    {StagePhase::off, StageEvent::ring, StagePhase::off, StageWake::pool},
    {StagePhase::vacant, StageEvent::close, StagePhase::off, StageWake::nobody},
    {StagePhase::vacant, StageEvent::take, StagePhase::working, StageWake::nobody},
    {StagePhase::vacant, StageEvent::ring, StagePhase::vacant, StageWake::pool},
    {StagePhase::working, StageEvent::close, StagePhase::leaving, StageWake::nobody},
    {StagePhase::working, StageEvent::ring, StagePhase::working, StageWake::nobody},
    {StagePhase::working, StageEvent::idle, StagePhase::resting, StageWake::nobody},
    {StagePhase::resting, StageEvent::close, StagePhase::leaving, StageWake::stage},
    {StagePhase::resting, StageEvent::ring, StagePhase::rung, StageWake::stage},
    {StagePhase::rung, StageEvent::close, StagePhase::leaving, StageWake::nobody},
    {StagePhase::rung, StageEvent::ring, StagePhase::rung, StageWake::nobody},
    {StagePhase::rung, StageEvent::wake, StagePhase::working, StageWake::nobody},
    {StagePhase::leaving, StageEvent::close, StagePhase::leaving, StageWake::nobody},
    {StagePhase::leaving, StageEvent::ring, StagePhase::leaving, StageWake::nobody},
    {StagePhase::leaving, StageEvent::idle, StagePhase::off, StageWake::nobody},
};

class Stage {
 public:
  [[nodiscard]] StagePhase phase() const { return phase_; }
  // Returns true while a thread has the stage: only this thread takes bundles then.
  [[nodiscard]] bool has_thread() const {
    return phase_ != StagePhase::off && phase_ != StagePhase::vacant;
  }
  // Aborts on a move that the table does not have.
  StageWake move(StageEvent event) {
    for (const StageMove& one : stage_moves) {
      if (one.from != phase_ || one.event != event) continue;
      phase_ = one.to;
      return one.wake;
    }
    K2K_EXPECT(!"a stage makes only the moves of its table");
    return StageWake::nobody;
  }

 private:
  StagePhase phase_ = StagePhase::off;
};

}  // namespace k2k::server
