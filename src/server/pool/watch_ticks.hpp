#pragma once
// How often the watcher looks at the roles: at each tick, more rarely while calls are short, and
// not at all while no calls are made.
//
// Threading: under the lock of the thread pool.

#include <algorithm>
#include <cstdint>

namespace k2k::server {

class WatchTicks {
 public:
  // Calls so far: calls that holders were about to make, and calls that threads began.
  struct Seen {
    std::uint64_t announced = 0;
    std::uint64_t made = 0;
  };

  void begin(const Seen& seen) {
    last_ = seen;
    quiet_ = 0;
    stretch_ = 1;
  }

  // Should the watcher look again without being woken?
  [[nodiscard]] bool looks(bool governed) const {
    return quiet_ < (governed ? idle_max_governed : idle_max);
  }
  // After so many periods of takeover_us.
  [[nodiscard]] std::uint32_t stretch() const { return stretch_; }
  // Otherwise: no call was announced since the last look?
  [[nodiscard]] bool silent(std::uint64_t announced) const { return announced == last_.announced; }
  // It was woken.
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
  // It found one.
  void took_over() { alert_ = alert_ticks; }

  // Ticks without a call before the watcher sleeps; the next call wakes it.
  static constexpr int idle_max = 20;
  // Under a cap requests pay for each look, and a thread that waits for milliseconds anyway can
  // wait for a take-over, too (Admission::watch_tick). At 1 % of two cores, ticks of takeover_us
  // took 6 % of the requests.
  static constexpr int idle_max_governed = 1;
  // While calls are short the watcher looks more and more rarely, down to every eighth takeover_us:
  // where all cores are busy each look interrupts a leader or the device (measured on two cores:
  // 7 % of the throughput of cached reads). After a take-over it stays alert for as many ticks.
  static constexpr std::uint32_t stretch_max = 8;
  static constexpr int alert_ticks = 400;

 private:
  Seen last_;
  int quiet_ = 0;  // Looks in a row before which no call was announced.
  std::uint32_t stretch_ = 1;
  int alert_ = 0;  // Ticks for which it stays alert; counts on from one watcher to the next.
};

}  // namespace k2k::server
