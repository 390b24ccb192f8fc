// SPIN's greedy rule (section 4.3.1): for each three consecutive ranges a, b, c of which b is
// cached,
//
//   |a| + |b| < S                                             direct
//   T_direct(|a|+|b|+|c|) < T_direct(|a|) + T_cache(|b|) + T_direct(|c|)     direct
//   else                                                      from the cache
//
// A missing range (before a cached head, behind a cached tail) is empty. A request that is fully
// cached comes from the cache, as in the paper.

#include "base/contract.hpp"
#include "labs/routing/baselines.hpp"

namespace k2k::labs::routing {

using router::Plan;
using router::Range;
using router::Residency;

Plan Baselines::greedy(Residency residency, Preceding preceding) {
  K2K_EXPECT(fits(residency));
  const auto pages = static_cast<std::uint32_t>(residency.size());
  if (pages == 0) return {};
  const std::uint32_t count = scan_->all_runs(residency.data(), pages, runs_.data());
  if (count == 1 && runs_[0].pages() == pages) return {pages, std::span(runs_).first(1)};
  std::uint32_t picked = 0;
  std::uint32_t begin = 0;  // Of range a.
  for (std::uint32_t at = 0; at < count; ++at) {
    const Range b = runs_[at];
    const std::uint32_t next = at + 1 < count ? runs_[at + 1].first : pages;
    const std::uint32_t before = b.first - begin;
    const std::uint32_t behind = next - b.last;
    const bool direct = (before + b.pages()) * costs_.direct_page < costs_.cutoff ||
                        costs_.direct(next - begin) <
                            costs_.direct(before) + costs_.cache(b.pages()) + costs_.direct(behind);
    if (!direct) picked_[picked++] = b;
    if (!direct || preceding == Preceding::range) begin = b.last;
  }
  return {pages, std::span(picked_).first(picked)};
}

}  // namespace k2k::labs::routing
