#pragma once
// The costs of a request: the service itself, which is learnt, and the host's besides.
//
// The latter are the indirect costs of HISS (IISWC'18, section IV), one figure each, to be
// calibrated on the machine or set by a study. If a governor charged service time alone, the true
// share would exceed the cap.
//
// Threading: confined to one thread, or under its user's lock.

#include <cmath>
#include <cstdint>

#include "base/units.hpp"

namespace k2k::governor {

// CPU time per event.
struct Costs {
  Nanoseconds interrupt{1'000};  // A doorbell that interrupts: entry, top half, exit.
  Nanoseconds wake{2'000};       // Waking a service thread, until it runs.
  Nanoseconds sleep{2'500};      // A timed sleep: switch out, timer interrupt, switch in.
  Nanoseconds tick{1'000};       // One round of a periodic accounting thread.
};

// The CPU time of a tenant's requests, learnt from served requests: mean and mean deviation,
// and a reserve of four deviations above the mean. Jacobson's estimator (SIGCOMM'88, appendix A).
class RequestCost {
 public:
  // The requests took `cpu` together. No request changes nothing.
  void learn(Nanoseconds cpu, std::uint64_t requests) {
    if (requests == 0) return;
    const double cost = static_cast<double>(cpu.count()) / static_cast<double>(requests);
    if (mean_ <= 0) mean_ = cost;
    const double error = cost - mean_;
    mean_ += mean_gain * error;
    spread_ += spread_gain * (std::abs(error) - spread_);
  }

  // In nanoseconds; 0: not yet known.
  [[nodiscard]] double mean() const { return mean_; }
  // A cost that few requests exceed.
  [[nodiscard]] double reserve() const { return mean_ + spreads_reserved * spread_; }

 private:
  static constexpr double mean_gain = 1.0 / 8;
  static constexpr double spread_gain = 1.0 / 4;
  static constexpr double spreads_reserved = 4;

  double mean_ = 0;
  double spread_ = 0;  // Mean deviation.
};

}  // namespace k2k::governor
