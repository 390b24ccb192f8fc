#pragma once
// Compares adaptive coalescing with the best fixed setting, from measurements in rounds.
//
// The setting that looks best in some rounds is partly lucky in them. So the best setting is chosen
// twice, on the even rounds and on the odd ones, and compared on the other half. Every round counts
// once, against a setting that was chosen without it.
//
// Threading: pure functions.

#include <cstdint>
#include <vector>

#include "bench/verdict.hpp"
#include "governor/coalescer.hpp"

namespace k2k::labs::coalescing {

// Measurements of one server, serving the events of one round.
struct Slice {
  double cpu_ns = 0;  // CPU time of the service threads.
  double requests = 0;
  double delay_ns = 0;  // From publication to service, summed over the requests.

  [[nodiscard]] double cost_ns() const { return cpu_ns / requests; }
  [[nodiscard]] double mean_delay_ns() const { return delay_ns / requests; }
};
Slice sum_of(const std::vector<Slice>& slices);

struct Contender {
  k2k::governor::CoalesceSetting setting{};  // Of a fixed contender.
  std::vector<Slice> rounds;
};

struct Rounds {
  std::vector<Contender> fixed;  // The first one does not coalesce.
  Contender adaptive;
};

// No coalescing, three windows, and the longest window with two maxima: settings of the policy's
// ladder, settings between them, and one with a window longer than the usual bound.
std::vector<k2k::governor::CoalesceSetting> fixed_settings();

// Adaptive coalescing may cost at most this much more.
inline constexpr double tolerance = 0.05;

struct Comparison {
  std::size_t best = 0;    // Over all rounds; the comparison chooses on half of them.
  bench::Interval ratio;   // CPU time per request, adaptive / best.
  bool delayed = false;    // Adaptive exceeded the bound on the mean delay, `best` did not.
  bool unbounded = false;  // Even without coalescing the delay exceeds the bound; `best` is then no
                           // coalescing.
  bench::Judgement judgement;
};

// Only settings with a mean delay of at most `delay_max_ns` are eligible. Expects at least four
// rounds of every contender, with requests in each.
Comparison compare(const Rounds& rounds, double delay_max_ns);

}  // namespace k2k::labs::coalescing
