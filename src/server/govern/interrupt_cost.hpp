#pragma once
// The CPU time of an interrupt behind a request: what Linux spent in interrupts, beyond its time
// without such requests, for each of them.
//
//   sample ──▶ no own interrupt since the last ──▶ quiet: the machine's interrupts without requests
//         └──▶ own interrupts ───────────────────▶ busy
//   each() = (time of busy − time of quiet) ÷ (interrupts of busy − interrupts of quiet)
//
// Both means forget with a memory of ten seconds. The divisor is at least the number of own
// interrupts, so that many requests that one interrupt completes pay for it once. An interrupt of
// another program is never charged; it can only change the mean, up to `longest`. Where Linux only
// samples soft interrupts (host/interrupt_time.hpp), the calibrated cost of a wake-up stands for
// the hard one.
//
// Threading: confined to one thread.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/units.hpp"
#include "host/interrupt_time.hpp"

namespace k2k::server {

class InterruptCost {
 public:
  static constexpr Nanoseconds longest{100'000};

  // `calibrated`: CPU time of an interrupt that wakes a thread, until a sample says more.
  explicit InterruptCost(Nanoseconds calibrated)
      : calibrated_(std::min(calibrated, longest)), each_(calibrated_) {}

  // `own`: interrupts behind this process' requests since it started.
  void sample(Instant now, const host::InterruptCounts& counts, std::uint64_t own) {
    const std::optional<Sample> last = std::exchange(last_, Sample{now, counts, own});
    if (!last || now <= last->moment) return;
    const Sums since = difference(*last, *last_);
    const double stolen = ns_of(counts.stolen - last->counts.stolen);
    const double gap = since.time + std::max(0.0, stolen);
    measured_ = counts.measured();
    part_of_gap_ = measured_ && gap > 0 ? since.time / gap : 0;
    if (since.own == 0) {
      quiet_.add(since);
      return;
    }
    busy_.add(since);
    update();
  }

  [[nodiscard]] Nanoseconds each() const { return each_; }
  // The part of the time in which a thread had a core, but did not run, that interrupts took: the
  // hypervisor took the rest. 0 where the clocks of threads include interrupts.
  [[nodiscard]] double part_of_gap() const { return part_of_gap_; }

 private:
  struct Sample {
    Instant moment;
    host::InterruptCounts counts;
    std::uint64_t own = 0;
  };
  struct Sums {
    double elapsed = 0;
    double time = 0;    // In interrupts, in nanoseconds.
    double events = 0;  // Interrupts that requests may cause.
    double own = 0;

    void add(const Sums& since) {
      constexpr double memory_ns = 10e9;
      const double kept = std::exp(-since.elapsed / memory_ns);
      elapsed = elapsed * kept + since.elapsed;
      time = time * kept + since.time;
      events = events * kept + since.events;
      own = own * kept + since.own;
    }
  };

  static double ns_of(Nanoseconds time) { return static_cast<double>(time.count()); }
  static double since(std::uint64_t before, std::uint64_t after) {
    return after > before ? static_cast<double>(after - before) : 0;
  }
  static Sums difference(const Sample& from, const Sample& to) {
    const host::InterruptCounts& a = from.counts;
    const host::InterruptCounts& b = to.counts;
    // A completion is an interrupt and a soft interrupt, or one of the two.
    return {.elapsed = ns_of(to.moment - from.moment),
            .time = std::max(0.0, ns_of(b.hard - a.hard + b.soft - a.soft)),
            .events = std::max(since(a.of_devices, b.of_devices), since(a.of_io, b.of_io)),
            .own = since(from.own, to.own)};
  }

  // Below this part of its quiet rate the machine has become quieter; more may be chance of ticks.
  static constexpr double still_quiet = 0.8;

  void update() {
    // Programs that interrupted the machine more have ended: all counts until requests pause again.
    const bool over = busy_.time * quiet_.elapsed < still_quiet * quiet_.time * busy_.elapsed;
    if (over) quiet_ = {};
    const double as_long = quiet_.elapsed > 0 ? busy_.elapsed / quiet_.elapsed : 0;
    const double time = busy_.time - as_long * quiet_.time;
    const double events = std::max(busy_.events - as_long * quiet_.events, busy_.own);
    const Nanoseconds mean(std::llround(time / events));
    each_ = measured_ ? mean : mean + calibrated_;
    each_ = std::clamp(each_, calibrated_, longest);
  }

  const Nanoseconds calibrated_;
  Nanoseconds each_;
  bool measured_ = false;
  double part_of_gap_ = 0;
  std::optional<Sample> last_;
  Sums quiet_;
  Sums busy_;
};

}  // namespace k2k::server
