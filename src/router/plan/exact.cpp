// The exact schedule: a shortest path over the few cached runs that can pay.
//
// A path goes from page 0 to the end. It passes through a cached run by copying the run, after one
// direct transfer from the end of the last copied run; so the stages of the Frontier are the ends
// of copied runs. Numbers of stages: 0 the beginning, 1 the cached head, from 2 on the long runs.

#include "router/plan/planner.hpp"

namespace k2k::router {

namespace {

// No long run: one transfer, with or without each of the cached ends. This is the usual case, and
// the choice of the four is unpredictable: the code has no branches. A missing end changes no time,
// and so is never chosen. `room` has two ranges.
Plan choose_ends(const Costs& costs, std::uint32_t pages, const Inner& inner, Range* room) {
  const auto transfer = [&](std::uint32_t length) {
    return costs.call + std::max<Ticks>(0, length * costs.direct_page - costs.cutoff);
  };
  const Ticks head = costs.cache(inner.head);
  const Ticks tail = costs.cache(pages - inner.tail);
  const Ticks none = transfer(pages);
  const Ticks with_head = head + transfer(pages - inner.head);
  const Ticks with_tail = tail + transfer(inner.tail);
  const Ticks both = head + tail + transfer(inner.tail - inner.head);
  const bool head_copied = std::min(with_head, both) < std::min(none, with_tail);
  const bool tail_copied = (head_copied ? both : with_tail) < (head_copied ? with_head : none);
  room[0] = {0, inner.head};
  room[head_copied ? 1 : 0] = {inner.tail, pages};
  return {pages, {room, std::size_t{head_copied} + std::size_t{tail_copied}}};
}

}  // namespace

Plan Planner::choose(const Costs& costs, std::uint32_t pages, const Inner& inner) {
  Frontier frontier(costs, stages_.data());
  frontier.add(0, 0, 0);
  if (inner.head > 0) frontier.add(costs.cache(inner.head), inner.head * costs.direct_page, 1);
  for (std::uint32_t at = 0; at < inner.count; ++at) {
    const Range run = runs_[at];
    const Frontier::Reach reached = frontier.reach(run.first * costs.direct_page);
    parents_[at] = reached.id;
    frontier.add(reached.cost + costs.cache(run.pages()), run.last * costs.direct_page, at + 2);
  }
  // Backwards, so the ranges are written from the end of their room.
  Range* const end = picked_.data() + picked_.size();
  Range* begin = end;
  std::uint32_t stage = 0;
  if (inner.tail < pages) {
    const Frontier::Reach reached = frontier.reach(inner.tail * costs.direct_page);
    const Frontier::Reach direct = frontier.reach(pages * costs.direct_page);
    const bool copied = reached.cost + costs.cache(pages - inner.tail) < direct.cost;
    if (copied) *--begin = {inner.tail, pages};
    stage = copied ? reached.id : direct.id;
  } else {
    stage = frontier.reach(pages * costs.direct_page).id;
  }
  for (; stage >= 2; stage = parents_[stage - 2]) *--begin = runs_[stage - 2];
  if (stage == 1) *--begin = {0, inner.head};
  return {pages, {begin, end}};
}

Plan Planner::exact(Residency residency) {
  K2K_EXPECT(fits(residency));
  const auto pages = static_cast<std::uint32_t>(residency.size());
  if (pages == 0) return {};
  const Inner inner = scan_->long_runs(residency.data(), pages, never_, runs_.data());
  if (inner.head == pages) {
    picked_.front() = {0, pages};
    const bool copied = costs_.cache(pages) <= costs_.direct(pages);
    return {pages, std::span(picked_).first(copied ? 1 : 0)};
  }
  if (inner.count == 0) return choose_ends(costs_, pages, inner, picked_.data());
  return choose(costs_, pages, inner);
}

}  // namespace k2k::router
