#pragma once
// Schedules to compare the router's schedules with; the product does not use them. The constructor
// allocates all memory; planning allocates none.
//
//   greedy   SPIN's rule as published: O(runs)
//   split    the least serial time when cached runs may be split, too: O(pages)
//
// Threading: one owner; a Plan's ranges are valid until the next one is made.

#include <cstdint>
#include <vector>

#include "router/plan/frontier.hpp"
#include "router/plan/plan.hpp"
#include "router/plan/scan.hpp"

namespace k2k::labs::routing {

// The meaning of `a` in SPIN's rule for three consecutive ranges a, b, c: the paper says "data
// ranges".
enum class Preceding {
  transfer,  // The direct transfer that b would lengthen, as decided so far.
  range,     // Only the uncached range before b.
};

class Baselines {
 public:
  // For requests of up to `pages` pages, under the costs of a router::Planner.
  Baselines(const router::Costs& costs, std::uint32_t pages,
            const router::Scan& scan = router::scans().front());

  // Expects at most as many pages as given to the constructor. No pages: an empty plan.
  router::Plan greedy(router::Residency residency, Preceding preceding = Preceding::transfer);
  router::Plan split(router::Residency residency);

 private:
  [[nodiscard]] bool fits(router::Residency residency) const {
    return residency.size() <= copied_.size() - 2;
  }

  router::Costs costs_;
  const router::Scan* scan_;
  std::vector<router::Range> runs_;
  std::vector<router::Range> picked_;
  std::vector<router::Frontier::Stage> stages_;
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint8_t> copied_;  // split(): does the page before this one come from the cache?
};

}  // namespace k2k::labs::routing
