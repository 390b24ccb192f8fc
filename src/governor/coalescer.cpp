#include "governor/coalescer.hpp"

#include <algorithm>
#include <cmath>

namespace k2k::governor {

namespace {
constexpr double same_within = 0.01;  // Less is noise.
constexpr double worse_by = 0.25;     // Ends the way up.
constexpr double changed_by = 0.10;   // net DIM's threshold for a load that is another one.
constexpr double unknown = 0;
constexpr std::uint32_t patience_max = 1024;
}  // namespace

CoalesceSetting Coalescer::sample(const CoalesceSample& sample) {
  if (sample.requests < requests_min) return setting();
  const double cost =
      static_cast<double>(sample.cpu.count()) / static_cast<double>(sample.requests);
  if (sample.delay > delay_max_ && step_ > 0) {
    step_back();
    return setting();
  }
  if (phase_ == Phase::parked) {
    look_again(cost);
  } else {
    explore(cost);
  }
  return setting();
}

// At once, whatever was going on.
void Coalescer::step_back() {
  too_slow_ = step_;
  if (best_step_ >= step_) {
    best_step_ = step_ - 1;
    best_cost_ = unknown;
  }
  park();
}

void Coalescer::explore(double cost) {
  if (phase_ == Phase::start) {
    best_cost_ = cost;
    return step_up();
  }
  const bool better = cost < best_cost_ * (1 - same_within);
  const bool same = cost <= best_cost_ * (1 + same_within);
  if (phase_ == Phase::up) {
    if (better) {
      best_cost_ = cost;
      best_step_ = step_;
    }
    // A short window may cost its timer and gain nothing where a long one gains much.
    if (cost <= best_cost_ * (1 + worse_by) && step_ < ceiling()) return step_up();
    if (best_step_ > first_step_) return park();
    step_ = best_step_;
    return step_down();
  }
  // A shorter window at the same cost is better: it delays less.
  if (!better && !same) return park();
  best_cost_ = std::min(best_cost_, cost);
  best_step_ = step_;
  step_down();
}

void Coalescer::look_again(double cost) {
  if (best_cost_ == unknown) best_cost_ = cost;
  ++parked_for_;
  const bool changed = std::abs(cost - best_cost_) > changed_by * best_cost_;
  if (!changed && parked_for_ < patience_) return;
  if (changed) patience_ = patience_min;
  too_slow_ = ladder.size();
  best_cost_ = cost;
  best_step_ = step_;
  first_step_ = step_;
  step_up();
}

void Coalescer::step_up() {
  phase_ = Phase::up;
  if (step_ >= ceiling()) return step_down();
  ++step_;
}

void Coalescer::step_down() {
  phase_ = Phase::down;
  if (step_ == 0) return park();
  --step_;
}

void Coalescer::park() {
  phase_ = Phase::parked;
  step_ = best_step_;
  parked_for_ = 0;
  // Looking found nothing better: the next look comes later.
  patience_ = step_ == first_step_ ? std::min(2 * patience_, patience_max) : patience_min;
}

std::size_t Coalescer::ceiling() const {
  std::size_t last = std::min(too_slow_, ladder.size()) - 1;
  // A window longer than the bound delays too long without a trial.
  while (last > 0 && std::chrono::microseconds(ladder[last].window_us) > delay_max_) --last;
  return last;
}

}  // namespace k2k::governor
