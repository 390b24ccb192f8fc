#pragma once
// Explains a plan: the contents, the cost and the deciding rule of each segment.
//
// Threading: pure functions.

#include <string>
#include <vector>

#include "router/plan/plan.hpp"

namespace k2k::router {

enum class Rule : std::uint8_t { exact, greedy, split, overlapped };

struct Segment {
  Range range;
  bool from_cache = false;
  double us = 0;
  std::uint32_t cached = 0;   // Pages; of a transfer, the cached pages that it includes.
  std::uint32_t runs = 0;     // Of cached pages, within the segment.
  std::uint32_t longest = 0;  // The longest of these runs, in pages.
  std::string why;            // "not cached"
};

// One Segment for each of the plan's segments, in the order of the pages. `never` is
// never_from_cache() of the model's costs. Expects a plan of this residency.
std::vector<Segment> explain(const Model& model, std::uint32_t never, const Plan& plan,
                             Residency residency, Rule rule);

}  // namespace k2k::router
