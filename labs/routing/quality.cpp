#include "labs/routing/quality.hpp"

#include "labs/routing/optimum.hpp"

namespace k2k::labs::routing {

using router::Costs;
using router::Range;
using router::Scan;
using router::Ticks;

void Judge::add(Quality& quality, const Pattern& pattern, std::mt19937_64& random) {
  pattern.fill(random, pages_);
  const auto pages = static_cast<std::uint32_t>(pages_.size());
  const Scan& scan = router::scans().back();
  const std::uint32_t count = scan.all_runs(pages_.data(), pages, runs_.data());
  const Costs& costs = planner_.costs();
  const Ticks least = optimum(costs, pages, std::span(runs_).first(count));
  const auto ratio = [&](Ticks time) {
    return static_cast<double>(least) / static_cast<double>(time);
  };
  ++quality.vectors;
  quality.runs += count;
  for (const Range& run : std::span(runs_).first(count)) {
    const bool edge = run.first == 0 || run.last == pages;
    if (edge || run.pages() > never_from_cache(costs)) ++quality.candidates;
  }
  quality.exact.add(ratio(times_of(costs, planner_.exact(pages_)).serial()));
  quality.greedy.add(ratio(times_of(costs, baselines_.greedy(pages_)).serial()));
  quality.greedy_range.add(
      ratio(times_of(costs, baselines_.greedy(pages_, Preceding::range)).serial()));
  quality.split.add(ratio(times_of(costs, baselines_.split(pages_)).serial()));
  quality.overlapped.add(ratio(times_together(costs, planner_.overlapped(pages_)).overlapped()));
}

}  // namespace k2k::labs::routing
