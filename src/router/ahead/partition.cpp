#include "router/ahead/partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace k2k::router {

Result<Partition> Partition::create(std::uint64_t pages, std::uint64_t grain) {
  K2K_EXPECT(grain >= 1);
  if (pages >= 1 && pages <= read_ahead_pages_max) return Partition(pages, grain);
  return Error{EINVAL, fmt::format("a read-ahead partition of {} pages; give 1 to {}", pages,
                                   read_ahead_pages_max)};
}

// An extent has at least one page, so there are never more extents than pages; an extent has fewer
// pages already while it is split.
Partition::Partition(std::uint64_t pages, std::uint64_t grain) : pages_max_(pages), grain_(grain) {
  spare_.reserve(pages);
  pieces_.reserve(pages);
  Extents nodes;
  for (std::uint64_t at = 0; at < pages; ++at)
    nodes.emplace_hint(nodes.end(), Place(0, at), Extent{});
  while (!nodes.empty()) spare_.push_back(nodes.extract(nodes.begin()));
}

Partition::Extents::iterator Partition::first_behind(std::uint64_t file, std::uint64_t page) {
  const auto behind = extents_.upper_bound({file, page});
  if (behind == extents_.begin()) return behind;
  const auto before = std::prev(behind);
  const auto& [place, extent] = *before;
  return place.first == file && place.second + extent.pages > page ? before : behind;
}

void Partition::count_off(const Extent& extent, std::uint64_t pages) {
  pages_ -= pages;
  if (extent.retired) pages_retired_ -= pages;
}

void Partition::add(std::uint64_t file, io::PageRange range, Extent* older, bool retired) {
  K2K_EXPECT(!spare_.empty());
  Extents::node_type node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = {file, range.first};
  Extent& extent = node.mapped();
  extent = {node.key(), range.pages, older, older != nullptr ? older->newer : oldest_, retired};
  (extent.older != nullptr ? extent.older->newer : oldest_) = &extent;
  (extent.newer != nullptr ? extent.newer->older : newest_) = &extent;
  extents_.insert(std::move(node));
  pages_ += range.pages;
  if (retired) pages_retired_ += range.pages;
}

Partition::Extents::iterator Partition::remove(Extents::iterator at) {
  const Extent& extent = at->second;
  (extent.older != nullptr ? extent.older->newer : oldest_) = extent.newer;
  (extent.newer != nullptr ? extent.newer->older : newest_) = extent.older;
  if (retired_ == &extent) retired_ = extent.older;
  count_off(extent, extent.pages);
  const auto behind = std::next(at);
  spare_.push_back(extents_.extract(at));
  return behind;
}

// The node stays, and with it the extent's place among the older and newer ones.
Partition::Extents::iterator Partition::cut_front(Extents::iterator at, std::uint64_t first) {
  const auto behind = std::next(at);
  Extents::node_type node = extents_.extract(at);
  Extent& extent = node.mapped();
  count_off(extent, first - extent.place.second);
  extent.pages -= first - extent.place.second;
  extent.place.second = first;
  node.key() = extent.place;
  return extents_.insert(behind, std::move(node));
}

void Partition::take(std::uint64_t file, io::PageRange range) {
  if (range.empty()) return;
  for (auto at = first_behind(file, range.first); at != extents_.end();) {
    Extent& extent = at->second;
    const std::uint64_t first = extent.place.second;
    const std::uint64_t end = first + extent.pages;
    if (extent.place.first != file || first >= range.end()) return;
    const std::uint64_t low = std::max(first, range.first);
    const std::uint64_t high = std::min(end, range.end());
    pieces_.push_back({file, {low, high - low}});
    if (low == first) {
      at = high == end ? remove(at) : cut_front(at, high);
      continue;
    }
    extent.pages = low - first;
    count_off(extent, end - low);
    if (high != end) {
      add(file, {high, end - high}, &extent, extent.retired);
      if (retired_ == &extent) retired_ = extent.newer;
    }
    ++at;
  }
}

void Partition::make_room(std::uint64_t pages) {
  while (pages_ + pages > pages_max_) {
    const Extent& oldest = *oldest_;
    const auto [file, first] = oldest.place;
    std::uint64_t gone = pages_ + pages - pages_max_;
    if (oldest.retired) gone = (first + gone + grain_ - 1) / grain_ * grain_ - first;
    gone = std::min(gone, oldest.pages);
    pieces_.push_back({file, {first, gone}});
    const auto at = extents_.find(oldest.place);
    if (gone == oldest.pages) {
      remove(at);
    } else {
      cut_front(at, first + gone);
    }
  }
}

std::span<const Partition::Piece> Partition::insert(std::uint64_t file, io::PageRange range) {
  K2K_EXPECT(range.pages <= pages_max_);
  pieces_.clear();
  if (range.empty()) return pieces_;
  take(file, range);
  pieces_.clear();
  make_room(range.pages);
  add(file, range, newest_);
  return pieces_;
}

std::uint64_t Partition::refresh(std::uint64_t file, io::PageRange range) {
  const std::uint64_t before = pages_;
  pieces_.clear();
  take(file, range);
  const std::uint64_t taken = before - pages_;
  for (const Piece& piece : pieces_) add(file, piece.range, newest_);
  return taken;
}

std::uint64_t Partition::retire(std::uint64_t file, io::PageRange range) {
  const std::uint64_t before = pages_;
  pieces_.clear();
  take(file, range);
  const std::uint64_t taken = before - pages_;
  for (const Piece& piece : pieces_) {
    const bool goes_on = retired_ != nullptr && retired_->place.first == file &&
                         retired_->place.second + retired_->pages == piece.range.first;
    if (goes_on) {
      retired_->pages += piece.range.pages;
      pages_ += piece.range.pages;
      pages_retired_ += piece.range.pages;
    } else {
      add(file, piece.range, retired_, true);
      retired_ = retired_ != nullptr ? retired_->newer : oldest_;
    }
  }
  return taken;
}

std::uint64_t Partition::release(std::uint64_t file, io::PageRange range) {
  const std::uint64_t before = pages_;
  pieces_.clear();
  take(file, range);
  return before - pages_;
}

std::span<const Partition::Piece> Partition::forget(std::uint64_t file) {
  pieces_.clear();
  for (auto at = extents_.lower_bound({file, 0});
       at != extents_.end() && at->first.first == file;) {
    pieces_.push_back({file, {at->first.second, at->second.pages}});
    at = remove(at);
  }
  return pieces_;
}

bool Partition::contains(std::uint64_t file, std::uint64_t page) const {
  const auto behind = extents_.upper_bound({file, page});
  if (behind == extents_.begin()) return false;
  const auto& [place, extent] = *std::prev(behind);
  return place.first == file && place.second + extent.pages > page;
}

}  // namespace k2k::router
