#pragma once
// Notices a launch in which work-items wait for the host or only yield, and says which.
//
//   none ──(no switch for `limit`)──▶ asked ──(a waiting unit)──▶ writing ──▶ written ──▶ reported
//
// The unit that owns the work-items writes the text, the thread in launch() hands it on: once a
// stall, and the launch goes on. Progress is that a work-item begins, makes a call, or that a wait
// of one is over: Unit::progress(). A yield is none, however often; one work-item that computes
// without a hook is none either, but its unit is not there to report.
//
// Threading: look() on the thread in launch().

#include <cstdint>
#include <string>

#include "backend/cpu/launch_state.hpp"
#include "base/units.hpp"

namespace k2k::backend::cpu {

class Watchdog {
 public:
  // `limit` zero: never.
  Watchdog(LaunchState& launch, Nanoseconds limit, Instant now);

  [[nodiscard]] bool enabled() const { return limit_ > Nanoseconds::zero(); }
  // How often to look.
  [[nodiscard]] Nanoseconds period() const;

  // `progress` is any number that changes with progress. Returns true once a report is
  // to be made; then text() is it. Asks units to write by waking them.
  bool look(std::uint64_t progress, Instant now);
  [[nodiscard]] std::string text() const;

 private:
  LaunchState& launch_;
  const Nanoseconds limit_;
  std::uint64_t progress_ = 0;
  Instant since_;
  bool reported_ = false;
};

}  // namespace k2k::backend::cpu
