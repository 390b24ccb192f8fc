#pragma once
// Detects a launch in which work-items only wait for the host or yield, and reports which.
//
//   none ──(no switch for `limit`)──▶ asked ──(a waiting unit)──▶ writing ──▶ written ──▶ reported
//
// The unit that owns the work-items writes the text, and the thread in launch() passes it on: once
// per stall, and the launch continues. Progress means that a work-item begins, makes a call, or
// ends a wait: Turns::progress(). A yield is no progress, however often. A work-item that computes
// without a hook makes none either, but then its unit is not available to report.
//
// Threading: check() on the thread in launch().

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
  // The interval between calls of check().
  [[nodiscard]] Nanoseconds period() const;

  // `progress` is any number that changes with progress. Returns true once a report is ready; then
  // text() returns it. Requests the text from units by waking them.
  bool check(std::uint64_t progress, Instant now);
  [[nodiscard]] std::string text() const;

 private:
  LaunchState& launch_;
  const Nanoseconds limit_;
  std::uint64_t progress_ = 0;
  Instant since_;
  bool reported_ = false;
};

}  // namespace k2k::backend::cpu
