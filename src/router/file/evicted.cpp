#include "router/file/evicted.hpp"

#include <algorithm>
#include <utility>

namespace k2k::router {

void Evicted::add(io::PageRange range) {
  if (range.empty()) return;
  std::uint64_t first = range.first;
  std::uint64_t end = range.end();
  // The ranges that it touches are merged into it.
  const auto low =
      std::ranges::lower_bound(ranges_, first, {}, [](const io::PageRange& r) { return r.end(); });
  auto high = low;
  for (; high != ranges_.end() && high->first <= end; ++high) {
    first = std::min(first, high->first);
    end = std::max(end, high->end());
  }
  ranges_.insert(ranges_.erase(low, high), {first, end - first});
  if (ranges_.size() > ranges_max) ranges_.erase(ranges_.begin());
}

std::uint64_t Evicted::take(io::PageRange range) {
  if (ranges_.empty() || range.empty()) return 0;
  std::uint64_t taken = 0;
  std::vector<io::PageRange> left;
  for (const io::PageRange& each : ranges_) {
    const std::uint64_t first = std::max(each.first, range.first);
    const std::uint64_t end = std::min(each.end(), range.end());
    if (first >= end) {
      left.push_back(each);
      continue;
    }
    taken += end - first;
    if (first > each.first) left.push_back({each.first, first - each.first});
    if (end < each.end()) left.push_back({end, each.end() - end});
  }
  if (taken > 0) ranges_ = std::move(left);
  if (ranges_.size() > ranges_max) ranges_.erase(ranges_.begin());
  return taken;
}

}  // namespace k2k::router
