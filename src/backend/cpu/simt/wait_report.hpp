#pragma once
// Names the work-items of a unit that wait: for a deadlock, and for a launch without progress.
//
// A report is written by the unit that owns the work-items, into text that the launch owns.
//
// Threading: the unit's thread. Not instrumented for ThreadSanitizer (sanitizers.hpp).

#include <cstdint>

#include "backend/cpu/launch_state.hpp"
#include "backend/cpu/simt/residents.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::cpu {

class WaitReport {
 public:
  WaitReport(const Residents& residents, const protocol::AreaView& area, LaunchState& launch)
      : residents_(residents), area_(area), launch_(launch) {}

  void begin_launch() { progress_before_ = no_question; }
  // Every work-item waits for another one: ends the launch with a text that names them.
  void deadlock();
  // `progress` is Turns::progress(). Writes a report only when nothing has moved here since the
  // question was seen: the question may be as old as the last work-item's turn.
  void answer_watchdog(std::uint64_t progress);

 private:
  void stall();

  static constexpr std::uint64_t no_question = ~std::uint64_t{0};

  const Residents& residents_;
  const protocol::AreaView& area_;
  LaunchState& launch_;
  std::uint64_t progress_before_ = no_question;  // Its value at the watchdog's question.
};

}  // namespace k2k::backend::cpu
