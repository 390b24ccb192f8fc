#include "router/plan/explain.hpp"

#include <fmt/format.h>

namespace k2k::router {

namespace {

void count_runs(Segment& segment, Residency residency) {
  std::uint32_t run = 0;
  for (std::uint32_t page = segment.range.first; page < segment.range.last; ++page) {
    run = (residency[page] & 1) != 0 ? run + 1 : 0;
    if (run == 1) ++segment.runs;
    if (run > 0) ++segment.cached;
    segment.longest = std::max(segment.longest, run);
  }
}

std::string number_of(std::uint32_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string why_copied(const Segment& segment, std::uint32_t never, std::uint32_t pages,
                       Rule rule) {
  const bool head = segment.range.first == 0;
  const bool tail = segment.range.last == pages;
  if (head && tail) return "all of it is cached: copied";
  const std::string run = number_of(segment.range.pages(), "page");
  if (rule == Rule::overlapped) {
    return fmt::format("{} cached: copied while transfers are in flight", run);
  }
  if (rule == Rule::greedy) return fmt::format("{} cached: copied by the greedy rule", run);
  if (head || tail) {
    return fmt::format("cached {} of {}, decided by time: copied, the transfer is shorter",
                       head ? "head" : "tail", run);
  }
  if (segment.range.pages() <= never) {  // Part of a longer run.
    return fmt::format("{} of a longer cached run: copied", run);
  }
  return fmt::format("cached run of {} > b* = {}: copying saves more than another transfer costs",
                     run, never);
}

std::string why_direct(const Segment& segment, std::uint32_t never, std::uint32_t pages,
                       Residency residency, Rule rule) {
  if (segment.cached == 0) return "not cached";
  if (segment.cached == segment.range.pages()) {
    return "cached, but a direct transfer is faster than the copy";
  }
  const std::string along = fmt::format(
      "{} not cached; {} cached in {} taken along: ", segment.range.pages() - segment.cached,
      segment.cached, number_of(segment.runs, "run"));
  if (rule == Rule::greedy) return along + "by the greedy rule";
  if (rule == Rule::overlapped) return along + "the direct side is done no later";
  if (segment.longest <= never) {
    return along +
           fmt::format(
               "no run is longer than b* = {} (the longest has {}), cheaper than another transfer",
               never, number_of(segment.longest, "page"));
  }
  const bool ends = (segment.range.first == 0 && (residency.front() & 1) != 0) ||
                    (segment.range.last == pages && (residency.back() & 1) != 0);
  return along + (ends ? "head and tail decided by time" : "decided by time");
}

}  // namespace

std::vector<Segment> explain(const Model& model, std::uint32_t never, const Plan& plan,
                             Residency residency, Rule rule) {
  K2K_EXPECT(plan.pages == residency.size());
  std::vector<Segment> all;
  for_each_segment(plan, [&](Range range, bool from_cache) {
    Segment segment;
    segment.range = range;
    segment.from_cache = from_cache;
    segment.us = from_cache ? cache_us(model, range.pages()) : direct_us(model, range.pages());
    count_runs(segment, residency);
    segment.why = from_cache ? why_copied(segment, never, plan.pages, rule)
                             : why_direct(segment, never, plan.pages, residency, rule);
    all.push_back(std::move(segment));
  });
  return all;
}

}  // namespace k2k::router
