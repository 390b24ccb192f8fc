#pragma once
// Chooses how long doorbells are held and how many at most, from what that costs and delays.
//
// In the manner of Linux' net DIM (Documentation/networking/net_dim.rst): a ladder of settings, a
// step up or down after each sample, on as long as it gets better, then parked until the load
// changes or it is time for another look. Where net DIM compares throughput, this compares CPU time
// a completed request, and refuses what delays requests beyond a bound.
//
// Threading: the caller serialises.

#include <array>
#include <cstdint>

#include "base/units.hpp"

namespace k2k::governor {

struct CoalesceSetting {
  std::uint32_t window_us;  // Doorbells are held so long; 0 = not at all.
  std::uint32_t max;        // And at most so many.
};

// What a setting did over a while.
struct CoalesceSample {
  Nanoseconds cpu{};           // CPU time of serving, interrupts and wake-ups included.
  std::uint64_t requests = 0;  // Completed.
  Nanoseconds delay{};         // From a doorbell to its service: a high quantile, or the mean.
};

class Coalescer {
 public:
  static constexpr std::array<CoalesceSetting, 9> ladder = {
      {{0, 1}, {2, 2}, {5, 4}, {10, 8}, {20, 16}, {40, 32}, {80, 64}, {160, 128}, {320, 256}}};
  // Fewer requests say nothing: the sample is passed over.
  static constexpr std::uint64_t requests_min = 16;
  // Samples from one look at the ladder to the next; longer the more often it found nothing.
  static constexpr std::uint32_t patience_min = 64;

  // `delay_max`: no setting is kept whose sample was delayed longer. Begins with no coalescing.
  explicit Coalescer(Nanoseconds delay_max) : delay_max_(delay_max) {}

  // The setting from now on.
  CoalesceSetting sample(const CoalesceSample& sample);

  [[nodiscard]] CoalesceSetting setting() const { return ladder[step_]; }
  [[nodiscard]] bool parked() const { return phase_ == Phase::parked; }

 private:
  //   start, parked ──▶ up    parked: when the cost changed, or after enough samples
  //   up ──▶ up               until it gets much worse or the ladder ends; the best step is kept
  //   up ──▶ parked           something was gained
  //   up ──▶ down ──▶ parked  nothing was gained: down as long as the cost stays
  enum class Phase : std::uint8_t { start, up, down, parked };

  void explore(double cost);
  void look_again(double cost);
  void step_back();
  void step_up();
  void step_down();
  void park();
  // Highest step that may be tried.
  [[nodiscard]] std::size_t ceiling() const;

  Nanoseconds delay_max_;
  Phase phase_ = Phase::start;
  std::size_t step_ = 0;
  std::size_t first_step_ = 0;  // Where the way up began.
  std::size_t best_step_ = 0;
  double best_cost_ = 0;                  // CPU nanoseconds a request at best_step_; 0 = unknown.
  std::size_t too_slow_ = ladder.size();  // This step delayed too long; forgotten when parked long.
  std::uint32_t parked_for_ = 0;          // Samples; after `patience_` the ladder is tried again.
  std::uint32_t patience_ = patience_min;
};

}  // namespace k2k::governor
