// Direct transfers are in flight while the CPU copies, so the time of the whole request is
// max(T_direct, T_cache). If the cost of a further transfer was not measured (Model::next_us), the
// device is assumed to serve one after another; otherwise it has C and S once.
//
// 1. The schedule with the least direct time: the exact one for a free copy. No schedule that
// leaves runs whole ends before it, so if copying takes no longer, it is the best of those.
// 2. Otherwise copying takes longest: too much is cached. Weights between the two times (Lagrange)
// give the schedules that trade one for the other. From the copied side of each, pages are moved to
// neighbouring transfers: at no cost while these are shorter than S, and beyond that until both
// sides end together. The best one is taken, or the serial optimum (that of the weights 8 : 8,
// without next_us). O(k) each.
//
// A fully cached request is copied: no device is disturbed.

#include "router/plan/planner.hpp"

namespace k2k::router {

namespace {

constexpr Ticks weights = 16;

Costs weighted(const Costs& costs, Ticks direct) {
  return {costs.call * direct, costs.cutoff * direct, costs.direct_page * direct,
          costs.cache_page * (weights - direct)};
}

// Moves up to `pages` pages from the copied ranges beside the transfer before ranges[at] into it.
// Each range keeps a page. Returns how many.
std::uint32_t widen(std::span<Range> ranges, std::size_t at, std::uint32_t pages) {
  std::uint32_t moved = 0;
  if (at < ranges.size()) {
    moved = std::min(pages, ranges[at].pages() - 1);
    ranges[at].first += moved;
  }
  if (at > 0) {
    const std::uint32_t more = std::min(pages - moved, ranges[at - 1].pages() - 1);
    ranges[at - 1].last -= more;
    moved += more;
  }
  return moved;
}

// Widens the transfers while copying takes longer, by at most `room(length)` pages each.
template <class Room>
void widen_all(std::span<Range> ranges, std::uint32_t pages, std::uint32_t wanted, Room room) {
  for (std::size_t at = 0; at <= ranges.size() && wanted > 0; ++at) {
    const std::uint32_t begin = at == 0 ? 0 : ranges[at - 1].last;
    const std::uint32_t end = at == ranges.size() ? pages : ranges[at].first;
    if (begin == end) continue;
    wanted -= widen(ranges, at, std::min<std::uint32_t>(wanted, room(end - begin)));
  }
}

void balance(const Costs& costs, std::uint32_t pages, std::span<Range> ranges) {
  const auto excess = [&](Ticks a_page) -> std::uint32_t {
    const Times<Ticks> times = times_together(costs, {pages, ranges});
    if (times.cache <= times.direct) return 0;
    return static_cast<std::uint32_t>((times.cache - times.direct) / a_page);
  };
  widen_all(ranges, pages, excess(costs.cache_page), [&](std::uint32_t length) {
    const Ticks room = (costs.together().cutoff - length * costs.direct_page) / costs.direct_page;
    return static_cast<std::uint32_t>(std::clamp<Ticks>(room, 0, pages_max));
  });
  widen_all(ranges, pages, excess(costs.cache_page + costs.direct_page),
            [](std::uint32_t) { return pages_max; });
}

}  // namespace

Plan Planner::overlapped(Residency residency) {
  K2K_EXPECT(fits(residency));
  const auto pages = static_cast<std::uint32_t>(residency.size());
  if (pages == 0) return {};
  const Inner inner = scan_->long_runs(residency.data(), pages, never_free_, runs_.data());
  if (inner.head == pages) {
    picked_.front() = {0, pages};
    return {pages, std::span(picked_).first(1)};
  }
  Plan best;
  Ticks best_time = 0;
  for (Ticks direct = weights; direct > 0; --direct) {
    const Plan plan = choose(weighted(costs_.together(), direct), pages, inner);
    const Times<Ticks> times = times_together(costs_, plan);
    const bool settled = times.cache <= times.direct;  // More copying would not help, less neither.
    if (!settled) {
      const std::span all(picked_);
      balance(costs_, pages, all.last(plan.cached.size()));
    }
    const Ticks time = times_together(costs_, plan).overlapped();
    if (direct == weights || time < best_time) {
      best = keep(plan);
      best_time = time;
    }
    if (settled) break;
  }
  if (costs_.next == 0) return best;
  // The weighted sums did not include C and S. This ensures that the result is never slower than
  // the serial optimum.
  const Plan serial = choose(costs_, pages, inner);
  return times_together(costs_, serial).overlapped() < best_time ? keep(serial) : best;
}

}  // namespace k2k::router
