#pragma once
// The policy `backoff`: the governor of HISS (IISWC'18, section VI and figure 11) as published.
//
// At each tick (10 us), a background thread computes whether the share of CPU time over the window
// is above the limit. A worker that finds it above waits for 10 us, then checks again and doubles
// the delay; below the limit the delay is zero. Requests are delayed, never rejected. This is the
// baseline: it overshoots small caps, mostly by its own ticks, and has neither tenants nor a
// longest delay. The window is not published; 1 ms fits the published results best.
//
// Ticks are computed on demand: a decision sees the share as of the last tick.

#include <cstdint>
#include <vector>

#include "governor/config.hpp"

namespace k2k::governor {

class Backoff final : public Governor {
 public:
  // Expects a valid configuration.
  Backoff(const GovernorConfig& config, Instant now);

  Decision decide(Instant now, const GrantRequest& request) override;
  void settle(Instant now, Nanoseconds reserved, const Spent& spent) override;
  // The source keeps interrupting, and each thread sleeps by itself.
  [[nodiscard]] bool masks_source() const override { return false; }
  [[nodiscard]] std::uint32_t threads_wanted() const override { return config_.threads; }
  [[nodiscard]] Nanoseconds tick_period() const override { return config_.tick; }
  Status set_cap(Instant now, double cap, Guarantees guarantees) override;
  [[nodiscard]] Report report(Instant now) override;

 private:
  // Moves the window to the last tick before or at `now`.
  void advance(Instant now);
  void limit();

  GovernorConfig config_;
  Instant begin_;
  std::int64_t limit_ns_ = 0;        // CPU time of all cores in one window, times the cap.
  std::vector<std::int64_t> spent_;  // One element per tick, as a ring: the window, and the tick in
                                     // progress.
  std::int64_t tick_ = 0;            // The tick in progress.
  std::int64_t in_window_ns_ = 0;    // Sum over the window, without the tick in progress.
  Nanoseconds delay_{};
  Nanoseconds throttled_{};
  std::uint64_t waits_ = 0;
};

}  // namespace k2k::governor
