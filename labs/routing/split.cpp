// The exact schedule if cached runs may be split, with a stage behind every cached page. A transfer
// shorter than S may then include neighbouring cached pages at no cost.
//
// Two costs of each page are kept: with the page before it copied, or transferred directly.
// O(pages).

#include <limits>

#include "base/contract.hpp"
#include "labs/routing/baselines.hpp"

namespace k2k::labs::routing {

using router::Frontier;
using router::Plan;
using router::Range;
using router::Residency;
using router::Ticks;

namespace {

constexpr Ticks never = std::numeric_limits<Ticks>::max() / 2;

}  // namespace

// parents_[x]: the begin of the transfer that ends before x. copied_[x]: was the page before the
// copied run's last page copied, too?
Plan Baselines::split(Residency residency) {
  K2K_EXPECT(fits(residency));
  const auto pages = static_cast<std::uint32_t>(residency.size());
  if (pages == 0) return {};
  Frontier frontier(costs_, stages_.data());
  frontier.add(0, 0, 0);
  Ticks copied = 0;
  Ticks direct = never;
  for (std::uint32_t at = 1; at <= pages; ++at) {
    const Frontier::Reach reached = frontier.reach(at * costs_.direct_page);
    copied_[at] = copied <= direct;
    copied = (residency[at - 1] & 1) != 0 ? std::min(copied, direct) + costs_.cache_page : never;
    direct = reached.cost;
    parents_[at] = reached.id;
    if (copied < never) frontier.add(copied, at * costs_.direct_page, at);
  }
  Range* const end = picked_.data() + picked_.size();
  Range* begin = end;
  bool from_cache = copied <= direct;
  for (std::uint32_t at = pages; at > 0;) {
    if (!from_cache) {
      at = parents_[at];
      from_cache = true;
      continue;
    }
    std::uint32_t first = at;
    do {
      from_cache = copied_[first--] != 0;
    } while (from_cache && first > 0);
    *--begin = {first, at};
    at = first;
  }
  return {pages, {begin, end}};
}

}  // namespace k2k::labs::routing
