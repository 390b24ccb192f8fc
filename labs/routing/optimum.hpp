#pragma once
// The reference: the least serial time, by the textbook recurrence over all cached runs, O(k^2),
// without early decisions. For tests and for `k2k route simulate`; it allocates.
//
// Threading: pure.

#include "router/plan/plan.hpp"

namespace k2k::labs::routing {

// `runs` are all cached runs of a request of `pages` pages; cached runs are not split.
router::Ticks optimum(const router::Costs& costs, std::uint32_t pages,
                      std::span<const router::Range> runs);

}  // namespace k2k::labs::routing
