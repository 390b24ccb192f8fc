#include "governor/cap_controller.hpp"

#include <algorithm>
#include <cmath>

namespace k2k::governor {

namespace {
constexpr double smoothing = 0.3;  // Part of a new sample in the loss.
constexpr double aim = 0.95;       // Of the allowed loss, so that noise stays below it.
constexpr double rise_max = 1.25;
constexpr double fall_max = 0.5;
constexpr double used_up = 0.8;  // Of the cap: below this share it does not bind.
constexpr double loss_least = 1e-6;

// Negative: no sensor.
double loss_of(const HostSample& sample) {
  if (sample.canary_loss >= 0) return sample.canary_loss;
  return sample.pressure >= 0 ? std::min(sample.pressure, sample.share) : -1;
}
}  // namespace

CapController::CapController(const Bounds& bounds)
    : bounds_(bounds), cap_(std::clamp(bounds.loss_max * aim, bounds.cap_min, bounds.cap_max)) {}

double CapController::update(const HostSample& sample) {
  const double measured = loss_of(sample);
  if (measured < 0) return cap_;
  loss_ = sampled_ ? loss_ + smoothing * (measured - loss_) : measured;
  sampled_ = true;

  // The square root damps: the smoothed loss lags the cap by some samples.
  const double wanted = std::sqrt(bounds_.loss_max * aim / std::max(loss_, loss_least));
  if (wanted > 1 && sample.share < used_up * cap_) return cap_;
  cap_ *= std::clamp(wanted, fall_max, rise_max);
  cap_ = std::clamp(cap_, bounds_.cap_min, bounds_.cap_max);
  return cap_;
}

}  // namespace k2k::governor
