#pragma once
// Compares each schedule with the least time on random residencies of one kind.
//
// Threading: one owner.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "labs/routing/baselines.hpp"
#include "labs/routing/patterns.hpp"
#include "router/plan/planner.hpp"

namespace k2k::labs::routing {

// least time / time: 1 is the best, unless a schedule may do things that the reference may not.
struct Ratio {
  double sum = 0;
  double worst = 1e300;

  void add(double ratio) {
    sum += ratio;
    worst = std::min(worst, ratio);
  }
};

struct Quality {
  std::uint64_t vectors = 0;
  std::uint64_t runs = 0;        // Cached runs.
  std::uint64_t candidates = 0;  // Cached runs that exact() had to decide.
  Ratio exact;
  Ratio greedy;        // Preceding::transfer
  Ratio greedy_range;  // Preceding::range
  Ratio split;
  Ratio overlapped;  // The least serial time / the time until both paths are done.

  [[nodiscard]] double mean(const Ratio& ratio) const {
    return vectors == 0 ? 0 : ratio.sum / static_cast<double>(vectors);
  }
};

class Judge {
 public:
  Judge(router::Planner& planner, std::uint32_t pages)
      : planner_(planner), baselines_(planner.costs(), pages), pages_(pages) {}

  // Adds one more residency, compared with optimum(). O(runs^2).
  void add(Quality& quality, const Pattern& pattern, std::mt19937_64& random);

 private:
  router::Planner& planner_;
  Baselines baselines_;
  std::vector<std::uint8_t> pages_;
  std::vector<router::Range> runs_ = std::vector<router::Range>(pages_.size() / 2 + 1);
};

}  // namespace k2k::labs::routing
