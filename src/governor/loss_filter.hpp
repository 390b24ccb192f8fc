#pragma once
// Estimates the loss of CPU programs from two sensors, for the policy `auto`.
//
// Only a thread that waits for a CPU loses time, and the loss is at most the time that service
// takes. So min(pressure, share) is a bound. It is exact to the microsecond, but it includes waits
// that service did not cause, and excludes slowdown. A canary measures a program's real loss, but
// has few samples: in a second it wants a core for some 75 ms on a busy machine. Hence
//
//   loss = min(pressure, share) x correction x unseen
//   correction = (evidence + lost) / (evidence + sum of bound x wanted)        0.25 to 4
//
// Neither sensor sees that CPU programs find cold caches: `unseen` accounts for that. It is the
// upper end of the interval of the measured factor (docs/decisions/0108): the loss is promised to
// stay below a bound.
//
// `wanted` and `lost` are the canary's times, forgotten within about 10 s. `evidence` is the amount
// that the canary must show before its measurement counts: until then the bound holds.
//
// Pure. Threading: the caller serialises.

#include <algorithm>

#include "base/units.hpp"

namespace k2k::governor {

// The canary's measurements since the last update.
struct CanarySight {
  Nanoseconds wanted{};  // Time in which the canary wanted a core.
  Nanoseconds lost{};    // The part of it that service may have taken.
};

class LossFilter {
 public:
  static constexpr double evidence_ns = 10e6;
  static constexpr double kept = 0.99;  // The part of the canary's sums that each sample keeps.
  static constexpr double correction_min = 0.25;
  static constexpr double correction_max = 4;
  static constexpr double unseen = 1.1;

  // `pressure` and the result as in HostSample: a fraction; pressure < 0: not available.
  double update(double pressure, double share, const CanarySight& canary) {
    const double bound = pressure < 0 ? share : std::min(pressure, share);
    lost_ns_ = kept * lost_ns_ + static_cast<double>(canary.lost.count());
    expected_ns_ = kept * expected_ns_ + bound * static_cast<double>(canary.wanted.count());
    return bound * correction() * unseen;
  }

  [[nodiscard]] double correction() const {
    return std::clamp((evidence_ns + lost_ns_) / (evidence_ns + expected_ns_), correction_min,
                      correction_max);
  }

 private:
  double lost_ns_ = 0;
  double expected_ns_ = 0;
};

}  // namespace k2k::governor
