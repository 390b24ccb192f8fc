#pragma once
// Chooses the cap so that CPU programs lose at most the loss that the administrator permits. HISS
// leaves this to future work (section VI). Pure: samples in, a cap out.
//
// The loss is a canary thread's loss against its undisturbed rate. Without a canary, the loss is at
// most the pressure (only a thread that waits for a CPU loses) and at most the CPU time taken. The
// loss per CPU time is not known beforehand (caches, frequency, placement), so the controller is
// proportional: cap x permitted / measured, damped, at most halved and raised by a quarter per
// sample. It raises only a cap that is used up, so that it does not wind up while idle.
//
// Threading: the caller serialises.

#include <algorithm>

#include "governor/governor.hpp"

namespace k2k::governor {

class CapController {
 public:
  struct Bounds {
    double loss_max = 0.05;  // Permitted loss, 0 to 1.
    double cap_min = 0.001;  // Fractions of all cores' CPU time.
    double cap_max = 1;
  };

  // Begins with the cap that is right if a CPU program loses exactly the time that service takes.
  explicit CapController(const Bounds& bounds);

  // Returns the new cap. A sample without a sensor changes nothing.
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
