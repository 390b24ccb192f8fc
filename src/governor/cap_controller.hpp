#pragma once
// Chooses the cap so that CPU programs lose at most what the administrator allows: what HISS leaves
// to future work (section VI). Pure: samples come in, a cap comes out.
//
// The loss is what a canary thread lost against its undisturbed rate. Without a canary it is at
// most the pressure (only who waits for a CPU loses) and at most the CPU time taken. The loss per
// CPU time is not known beforehand (caches, frequency, placement), so the controller goes by
// proportion: cap x allowed / measured, damped, at most halved and raised by a quarter a sample. It
// raises only a cap that is used up, so that it does not wind up in silence.
//
// Threading: the caller serialises.

#include <algorithm>

#include "governor/governor.hpp"

namespace k2k::governor {

class CapController {
 public:
  struct Bounds {
    double loss_max = 0.05;  // Allowed loss, 0 to 1.
    double cap_min = 0.001;  // Fractions of all cores' CPU time.
    double cap_max = 1;
  };

  // Begins with the cap that is right where a CPU program loses exactly what service takes.
  explicit CapController(const Bounds& bounds);

  // The cap from now on. A sample without a sensor changes nothing.
  double update(const HostSample& sample);

  // Expects at least cap_min.
  void set_cap_max(double cap_max) {
    bounds_.cap_max = cap_max;
    cap_ = std::min(cap_, cap_max);
  }

  [[nodiscard]] double cap() const { return cap_; }
  // Smoothed; 0 before the first sample.
  [[nodiscard]] double loss() const { return loss_; }

 private:
  Bounds bounds_;
  double cap_;
  double loss_ = 0;
  bool sampled_ = false;
};

}  // namespace k2k::governor
