#pragma once
// The loss of CPU programs, out of two sensors: for the policy `auto`.
//
// Only who waits for a CPU loses, and nobody loses more than is taken: so min(pressure, share) is
// a bound that is exact to the microsecond, but counts waits that have nothing to do with service,
// and no slowdown. A canary sees what a program really loses, but rarely looks: in a second it
// wants a core for some 75 ms of a busy machine. Hence
//
//   loss = min(pressure, share) x correction x unseen
//   correction = (evidence + lost) / (evidence + sum of bound x wanted)        0.25 to 4
//
// What neither sees is that CPU programs find cold caches: `unseen` stands for that, 1.07 to 1.3
// where it was measured (docs/design/governor.md, "Real threads").
//
// And `wanted` and `lost` are the canary's times, forgotten within about 10 s. `evidence` is what
// the canary has to show before it is believed: until then the bound stands.
//
// Pure. Threading: the caller serialises.

#include <algorithm>

#include "base/units.hpp"

namespace k2k::governor {

// What a canary saw since the last time.
struct CanarySight {
  Nanoseconds wanted{};  // Time in which it wanted a core.
  Nanoseconds lost{};    // Of that, what service may have taken from it.
};

class LossFilter {
 public:
  static constexpr double evidence_ns = 10e6;
  static constexpr double kept = 0.99;  // Of the canary's sums, from one sample to the next.
  static constexpr double correction_min = 0.25;
  static constexpr double correction_max = 4;
  static constexpr double unseen = 1.2;

  // `pressure` and the result as in HostSample: a fraction; pressure < 0 = not available.
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
