#pragma once
// Adaptive coalescing against the best fixed setting: what was seen in rounds, and what that says.
//
// The best of many is lucky in the rounds in which it was found best. So it is chosen twice, on the
// even rounds and on the odd ones, and compared on the others: every round counts once, against a
// setting that was chosen without it.
//
// Threading: pure functions.

#include <cstdint>
#include <vector>

#include "bench/verdict.hpp"
#include "governor/coalescer.hpp"

namespace k2k::labs::coalescing {

// What a server did with the events of one round.
struct Slice {
  double cpu_ns = 0;  // CPU time of its service threads.
  double requests = 0;
  double delay_ns = 0;  // From publication to service, summed up.

  [[nodiscard]] double cost_ns() const { return cpu_ns / requests; }
  [[nodiscard]] double mean_delay_ns() const { return delay_ns / requests; }
};
Slice sum_of(const std::vector<Slice>& slices);

struct Contender {
  k2k::governor::CoalesceSetting setting{};  // Of a fixed one.
  std::vector<Slice> rounds;
};

struct Rounds {
  std::vector<Contender> fixed;  // The first holds no doorbell.
  Contender adaptive;
};

// Without coalescing, three windows, and the longest with two maxima: those of the ladder, others
// between them, and one whose window is longer than the usual bound.
std::vector<k2k::governor::CoalesceSetting> fixed_settings();

// Adaptive costs at most so much more.
inline constexpr double tolerance = 0.05;

struct Comparison {
  std::size_t best = 0;    // Of all rounds; what is compared with is chosen on half of them.
  bench::Interval ratio;   // CPU time a request, adaptive / best.
  bool delayed = false;    // Adaptive broke the bound on the mean delay, and `best` did not.
  bool unbounded = false;  // Even without coalescing the bound is broken; that is then `best`.
  bench::Judgement judgement;
};

// Only what keeps the mean delay within `delay_max_ns` is eligible. Expects at least four rounds of
// every contender, with requests in each.
Comparison compare(const Rounds& rounds, double delay_max_ns);

}  // namespace k2k::labs::coalescing
