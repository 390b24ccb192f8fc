#include "labs/routing/optimum.hpp"

#include <limits>
#include <vector>

namespace k2k::labs::routing {

using router::Costs;
using router::Range;
using router::Ticks;

Ticks optimum(const Costs& costs, std::uint32_t pages, std::span<const Range> runs) {
  // For the start of the request and for the end of each run: the least time if the page before it
  // is copied.
  std::vector<Ticks> best = {0};
  std::vector<Ticks> ends = {0};
  const auto reach = [&](std::uint32_t page) {
    const Ticks position = page * costs.direct_page;
    Ticks least = std::numeric_limits<Ticks>::max();
    for (std::size_t from = 0; from < best.size(); ++from) {
      const Ticks length = position - ends[from];
      const Ticks transfer =
          length == 0 ? 0 : costs.call + std::max<Ticks>(0, length - costs.cutoff);
      least = std::min(least, best[from] + transfer);
    }
    return least;
  };
  for (const Range& run : runs) {
    const Ticks before = reach(run.first);
    best.push_back(before + costs.cache(run.pages()));
    ends.push_back(run.last * costs.direct_page);
  }
  return reach(pages);
}

}  // namespace k2k::labs::routing
