#pragma once
// A schedule of one request: the pages that come from the page cache. All others come by direct
// transfers, one for each stretch between two cached ones.
//
//   pages    0        9      20            31     40
//            |////////|......|/////////////|......|       / from the cache    . direct
//   cached   {0, 9}          {20, 31}
//
// A residency is a byte per page; its lowest bit is 1 if the page is in the page cache, as in
// mincore(2). Other bits are ignored.
//
// Threading: values and pure functions.

#include <algorithm>
#include <cstdint>
#include <span>

#include "router/plan/model.hpp"

namespace k2k::router {

using Residency = std::span<const std::uint8_t>;

struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;  // The first page after it.

  [[nodiscard]] std::uint32_t pages() const { return last - first; }
  bool operator==(const Range&) const = default;
};

struct Plan {
  std::uint32_t pages = 0;
  std::span<const Range> cached;  // Ascending, apart from each other, none empty.
};

// Calls visit(Range, bool from_cache) for each segment, in the order of the pages.
template <class Visit>
void for_each_segment(const Plan& plan, Visit&& visit) {
  std::uint32_t at = 0;
  for (const Range& range : plan.cached) {
    if (at < range.first) visit(Range{at, range.first}, false);
    visit(range, true);
    at = range.last;
  }
  if (at < plan.pages) visit(Range{at, plan.pages}, false);
}

// The work of both paths for a plan.
template <class Time>
struct Times {
  Time direct{};
  Time cache{};

  [[nodiscard]] Time serial() const { return direct + cache; }               // One after another.
  [[nodiscard]] Time overlapped() const { return std::max(direct, cache); }  // Both at once.
};

inline Times<Ticks> times_of(const Costs& costs, const Plan& plan) {
  Times<Ticks> times;
  for_each_segment(plan, [&](Range range, bool from_cache) {
    if (from_cache) times.cache += costs.cache(range.pages());
    if (!from_cache) times.direct += costs.direct(range.pages());
  });
  return times;
}

// The direct transfers of a plan: their number and their pages.
struct Transfers {
  std::uint32_t count = 0;
  std::uint32_t pages = 0;
};
inline Transfers transfers_of(const Plan& plan) {
  Transfers transfers;
  for_each_segment(plan, [&](Range range, bool from_cache) {
    if (from_cache) return;
    ++transfers.count;
    transfers.pages += range.pages();
  });
  return transfers;
}

// The same with the direct transfers in flight together: C and S count once, and `next` for each
// but the first.
inline Times<Ticks> times_together(const Costs& costs, const Plan& plan) {
  Times<Ticks> times = times_of(costs, plan);
  if (costs.next == 0 || times.direct == 0) return times;
  const Transfers transfers = transfers_of(plan);
  times.direct = costs.direct(transfers.pages) + (transfers.count - 1) * costs.next;
  return times;
}

inline Times<double> microseconds_of(const Model& model, const Plan& plan) {
  Times<double> times;
  for_each_segment(plan, [&](Range range, bool from_cache) {
    if (from_cache) times.cache += cache_us(model, range.pages());
    if (!from_cache) times.direct += direct_us(model, range.pages());
  });
  return times;
}

inline Times<double> microseconds_together(const Model& model, const Plan& plan) {
  Times<double> times = microseconds_of(model, plan);
  const double next = next_us_of(model);
  if (next == 0 || times.direct == 0) return times;
  const Transfers transfers = transfers_of(plan);
  times.direct = direct_us(model, transfers.pages) + (transfers.count - 1) * next;
  return times;
}

}  // namespace k2k::router
