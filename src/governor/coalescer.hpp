#pragma once
// Chooses the longest hold of doorbells and their largest number, from the measured cost and delay.
//
// After Linux' net DIM (Documentation/networking/net_dim.rst): a ladder of settings, and samples of
// what the one in force does. Where net DIM compares throughput, this compares CPU time a completed
// request, and refuses what delays requests beyond a bound on the average. And where net DIM climbs
// from each sample to the next, this tries: one sample of another setting, between two of the best.
//
//   best   before | trial | after   best ...       the trial is worth its cost against these two
//
// Loads swing from one sample to the next, and so do machines: a trial beside its neighbours says
// what two samples a second apart cannot. The cost of trials is bounded: the more expensive a
// setting was, the later it is tried again.
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

// Measurements of one setting over a period.
struct CoalesceSample {
  Nanoseconds cpu{};           // CPU time of serving, interrupts and wake-ups included.
  std::uint64_t requests = 0;  // Completed.
  Nanoseconds delay{};         // From a doorbell to its service, the mean.
};

class Coalescer {
 public:
  // By what they delay, about. Short windows are spun, so that between none and those that are
  // slept there may be a hump.
  static constexpr std::array<CoalesceSetting, 9> ladder = {{{0, 64},
                                                             {5, 64},
                                                             {10, 64},
                                                             {20, 64},
                                                             {40, 64},
                                                             {80, 128},
                                                             {160, 16},
                                                             {160, 256},
                                                             {320, 256}}};
  // What a sample should be: many settlements of a server's books.
  static constexpr Nanoseconds sample_min = std::chrono::milliseconds(10);
  static constexpr Nanoseconds sample_max = std::chrono::milliseconds(200);
  // Fewer requests say nothing: the sample is passed over.
  static constexpr std::uint64_t requests_min = 16;
  // Samples from one trial of a setting to the next, where it costs what the best one does.
  static constexpr std::uint32_t patience = 64;

  // `delay_max`: no setting is kept that delays requests longer on the average. Begins with none.
  explicit Coalescer(Nanoseconds delay_max);

  // The setting from now on.
  CoalesceSetting sample(const CoalesceSample& sample);

  [[nodiscard]] CoalesceSetting setting() const {
    return ladder[phase_ == Phase::trying ? trial_ : best_];
  }
  // The best setting so far, also during a trial.
  [[nodiscard]] CoalesceSetting best() const { return ladder[best_]; }

 private:
  //   settled ──▶ trying     a setting's trial is due
  //   trying ──▶ returned    always
  //   returned ──▶ trying    another trial is due, and this sample is what was before it
  //   returned ──▶ settled   none is; or the trial was better, and is the best now
  enum class Phase : std::uint8_t { settled, trying, returned };

  // What trials of a step said, older ones discounted.
  struct Trials {
    double cpu = 0;       // CPU time that it took,
    double expected = 0;  // and that the best would have taken for the same requests.
    double weight = 0;    // So many trials, about.
    double waited = 0;    // Delays of the requests in them, summed up,
    double requests = 0;  // so many.
    std::uint32_t count = 0;
    std::uint32_t refusals = 0;  // In a row: it delayed too long.
    std::uint64_t due = 0;       // Sample number of the next one.
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
  std::size_t last_ = 0;  // Of the ladder: longer windows than twice the bound are never tried.
  Phase phase_ = Phase::settled;
  std::uint64_t now_ = 0;  // Samples so far.
  std::size_t best_ = 0;
  std::size_t trial_ = 0;
  std::array<Trials, ladder.size()> trials_;
  std::size_t too_slow_ = ladder.size();  // It delayed too long, and so do longer windows.
  CoalesceSample before_;                 // Of best_, right before the trial.
  CoalesceSample tried_;
  double waited_ = 0;         // Delays of the requests under best_, older samples discounted,
  double requests_ = 0;       // and their number.
  CoalesceSample load_;       // Samples of best_, summed up,
  CoalesceSample load_part_;  // the latest of them,
  std::uint32_t loads_ = 0;   // so many.
  double load_cost_ = 0;      // CPU nanoseconds a request of the last such sum; 0 = unknown.
};

}  // namespace k2k::governor
