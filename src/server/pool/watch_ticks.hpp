#pragma once
// Decides how often the watcher looks at the roles: at each tick, more rarely while calls are
// short, and never while no calls are made.
//
// Threading: under the lock of the thread pool.

#include <algorithm>
#include <cstdint>

namespace k2k::server {

class WatchTicks {
 public:
  // Counts of calls: calls that holders announced, and calls that threads began.
  struct Seen {
    std::uint64_t announced = 0;
    std::uint64_t made = 0;
  };

  void begin(const Seen& seen) {
    last_ = seen;
    quiet_ = 0;
    stretch_ = 1;
  }

  // Returns true if the watcher must look again without being woken.
  [[nodiscard]] bool looks(bool governed) const {
    return quiet_ < (governed ? idle_max_governed : idle_max);
  }
  // The number of takeover_us periods until the next look.
  [[nodiscard]] std::uint32_t stretch() const { return stretch_; }
  // Returns true if no call was announced since the last look.
  [[nodiscard]] bool silent(std::uint64_t announced) const { return announced == last_.announced; }
  // The watcher was woken.
  void woken() { quiet_ = 0; }

  // The watcher looked and found no stuck thread. `split`: split bundles are tried outside the
  // roles, and their queue waits for the next tick.
  void looked(const Seen& seen, bool split) {
    quiet_ = seen.announced == last_.announced ? quiet_ + 1 : 0;
    // At least two calls a period: each took less than half of it.
    const bool all_short = !split && seen.made - last_.made >= std::uint64_t{2} * stretch_;
    last_ = seen;
    if (alert_ > 0) --alert_;
    stretch_ = all_short && alert_ == 0 ? std::min(stretch_ * 2, stretch_max) : 1;
  }
  // The watcher found a stuck thread.
  void took_over() { alert_ = alert_ticks; }

  // Ticks without a call before the watcher sleeps; the next call wakes it.
  static constexpr int idle_max = 20;
  // Under a cap requests pay for each look, and a thread that waits for milliseconds can also wait
  // for a take-over (Admission::watch_tick). At 1 % of two cores, ticks of takeover_us cost 6 % of
  // the requests.
  static constexpr int idle_max_governed = 1;
  // While calls are short the watcher looks more and more rarely, down to every eighth takeover_us:
  // if all cores are busy, each look interrupts a leader or the device (measured on two cores: 7 %
  // of the throughput of cached reads). After a take-over it looks at every tick for a time.
  static constexpr std::uint32_t stretch_max = 8;
  static constexpr int alert_ticks = 400;

 private:
  Seen last_;
  int quiet_ = 0;  // Consecutive looks without an announced call.
  std::uint32_t stretch_ = 1;
  int alert_ = 0;  // Remaining ticks without stretching; the next watcher continues the count.
};

}  // namespace k2k::server
