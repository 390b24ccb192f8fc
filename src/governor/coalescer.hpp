#pragma once
// Chooses the longest hold of doorbells and their largest number, from the measured cost and delay.
//
// Based on Linux' net DIM (Documentation/networking/net_dim.rst): a ladder of settings, and samples
// of the effect of the current one. Net DIM compares throughput; this compares CPU time per
// completed request, and refuses settings that delay requests beyond a bound on the average. Net
// DIM climbs from each sample to the next; this makes trials: one sample of another setting,
// between two samples of the best one.
//
//   best before, trial, best after ...       the trial is compared with its two neighbours
//
// Loads and machines vary from one sample to the next, so a trial is compared with its neighbours,
// not with a sample a second apart. The cost of trials is bounded: the more expensive a setting
// was, the later it is tried again.
//
// Threading: the caller serialises.

#include <array>
#include <cstdint>

#include "base/units.hpp"

namespace k2k::governor {

struct CoalesceSetting {
  std::uint32_t window_us;  // Doorbells are held at most this long; 0: not at all.
  std::uint32_t max;        // At most this many are held.
};

// Measurements of one setting over a period.
struct CoalesceSample {
  Nanoseconds cpu{};           // CPU time of serving, interrupts and wake-ups included.
  std::uint64_t requests = 0;  // Completed.
  Nanoseconds delay{};         // From a doorbell to its service, the mean.
};

class Coalescer {
 public:
  // Roughly ordered by delay. Short windows are spun, so the cost may have a maximum between no
  // window and the windows that are slept.
  static constexpr std::array<CoalesceSetting, 9> ladder = {{{0, 64},
                                                             {5, 64},
                                                             {10, 64},
                                                             {20, 64},
                                                             {40, 64},
                                                             {80, 128},
                                                             {160, 16},
                                                             {160, 256},
                                                             {320, 256}}};
  // The desired length of a sample: many settlements of a server's ledger.
  static constexpr Nanoseconds sample_min = std::chrono::milliseconds(10);
  static constexpr Nanoseconds sample_max = std::chrono::milliseconds(200);
  // A sample with fewer requests is ignored.
  static constexpr std::uint64_t requests_min = 16;
  // Samples between trials of a setting that costs the same as the best one.
  static constexpr std::uint32_t patience = 64;

  // `delay_max`: no setting is kept that delays requests longer on the average. Begins with no
  // coalescing.
  explicit Coalescer(Nanoseconds delay_max);

  // Returns the setting to use from now on.
  CoalesceSetting sample(const CoalesceSample& sample);

  [[nodiscard]] CoalesceSetting setting() const {
    return ladder[phase_ == Phase::trying ? trial_ : best_];
  }
  // The best setting so far, even during a trial.
  [[nodiscard]] CoalesceSetting best() const { return ladder[best_]; }

 private:
  //   settled ──▶ trying     a setting's trial is due
  //   trying ──▶ returned    always
  //   returned ──▶ trying    another trial is due, and this sample is the one before it
  //   returned ──▶ settled   none is due; or the trial was better and is now the best
  enum class Phase : std::uint8_t { settled, trying, returned };

  // Results of a step's trials, with older ones discounted.
  struct Trials {
    double cpu = 0;       // CPU time of the trials,
    double expected = 0;  // and of the best setting for the same requests.
    double weight = 0;    // The number of trials, discounted.
    double waited = 0;    // Summed delays of their requests,
    double requests = 0;  // and the number of requests.
    std::uint32_t count = 0;
    std::uint32_t refusals = 0;  // In succession: the delay exceeded the bound.
    std::uint64_t due = 0;       // Sample number of the next trial.
    [[nodiscard]] double excess() const { return expected > 0 ? cpu / expected - 1 : 0; }
  };

  void conclude(const CoalesceSample& after);
  void space(Trials& trials) const;
  bool too_slow();
  bool promote();
  void make_best(std::size_t step);
  void watch_load(const CoalesceSample& sample);
  bool keeps_the_bound(const CoalesceSample& sample);
  void begin_trial();
  void refuse(std::size_t step);

  double delay_max_;
  std::size_t last_ = 0;  // On the ladder: windows longer than twice the bound are never tried.
  Phase phase_ = Phase::settled;
  std::uint64_t now_ = 0;  // Samples so far.
  std::size_t best_ = 0;
  std::size_t trial_ = 0;
  std::array<Trials, ladder.size()> trials_;
  std::size_t too_slow_ = ladder.size();  // The first step with too long a delay; longer windows
                                          // are too slow as well.
  CoalesceSample before_;                 // Of best_, immediately before the trial.
  CoalesceSample tried_;
  double waited_ = 0;         // Delays of the requests under best_, older samples discounted,
  double requests_ = 0;       // and their number.
  CoalesceSample load_;       // Sum of the samples of best_,
  CoalesceSample load_part_;  // the latest of them,
  std::uint32_t loads_ = 0;   // and their number.
  double load_cost_ = 0;      // CPU nanoseconds a request of the last such sum; 0 = unknown.
};

}  // namespace k2k::governor
