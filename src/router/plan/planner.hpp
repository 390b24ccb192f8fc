#pragma once
// Computes schedules under one Model. create() allocates all memory; planning allocates none.
//
//   exact       the least serial time of any schedule that leaves cached runs whole: O(k), where k
//               is the number of cached runs longer than never_from_cache(), at most two more
//   overlapped  a short time until both paths are done, with direct transfers in flight while CPUs
//               copy: the least time if direct transfers take longer, see overlapped.cpp
//
// labs/routing/ has others for comparison.
//
// Threading: one owner; a Plan's ranges are valid until its planner makes the next one.

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "router/plan/frontier.hpp"
#include "router/plan/plan.hpp"
#include "router/plan/scan.hpp"

namespace k2k::router {

class Planner {
 public:
  // For requests of up to `pages` pages. Errors: EINVAL, costs_of() refuses the model, or `pages`
  // is 0 or above pages_max.
  static Result<Planner> create(const Model& model, std::uint32_t pages,
                                const Scan& scan = scans().front());

  // Expect at most as many pages as given to create(). No pages: an empty plan.
  Plan exact(Residency residency);
  Plan overlapped(Residency residency);

  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const Costs& costs() const { return costs_; }

 private:
  Planner(const Model& model, const Costs& costs, std::uint32_t pages, const Scan& scan);

  [[nodiscard]] bool fits(Residency residency) const { return residency.size() <= room_pages_; }
  // The best choice among a residency's cached ends and its long runs, in runs_.
  Plan choose(const Costs& costs, std::uint32_t pages, const Inner& inner);
  // Keeps a plan's ranges while the next one is made.
  Plan keep(const Plan& plan);

  Model model_;
  Costs costs_;
  std::uint32_t room_pages_;
  std::uint32_t never_;       // never_from_cache()
  std::uint32_t never_free_;  // The same with a free cache and all transfers in flight together.
  const Scan* scan_;
  std::vector<Range> runs_;
  std::vector<Range> picked_;
  std::vector<Range> kept_;
  std::vector<Frontier::Stage> stages_;
  std::vector<std::uint32_t> parents_;
};

}  // namespace k2k::router
