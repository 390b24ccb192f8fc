#pragma once
// The pages of the page cache that are there only because read-ahead for a device brought them, and
// which of them must go: no more than a bound, the least recently used first, and before these what
// has served its purpose.
//
//                insert: read ahead, absent before
//   (not ours) ----------------------------------> in the partition ---> evicted: the caller drops
//              <----------------------------------    ^      |            it from the page cache
//                release: a host program reads it,    '------'            (POSIX_FADV_DONTNEED)
//                or forget: the file is gone          refresh: a device reads it again
//                                                     retire: a stream has read it
//
// SPIN's GPU read-ahead cache (USENIX ATC'17, 4.3.2, 512 pages); retire() is ours: with several
// streams the least recently used pages are those that the slowest has still to read. Neighbours
// that were used at the same time are kept as one range, so an operation costs O(log n) and O(log
// n) for each range that it splits, moves or evicts; within a range the lower pages go first.
//
// Files are numbers of the caller's. All memory is taken by create().
//
// Threading: one owner.

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "io/file/page_range.hpp"
#include "router/ahead/read_ahead_limits.hpp"

namespace k2k::router {

class Partition {
 public:
  struct Piece {
    std::uint64_t file = 0;
    io::PageRange range;
    bool operator==(const Piece&) const = default;
  };

  // EINVAL: `pages` is 0 or above read_ahead_pages_max. `grain`: what was retired goes up to a
  // multiple of so many pages at once, for a folio that jutted out would stay; at least 1.
  static Result<Partition> create(std::uint64_t pages, std::uint64_t grain = 1);

  Partition(Partition&&) = default;
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;

  // Pages that were absent, and were read ahead; those that are here already become the newest as
  // well. Returns what had to go, the oldest first: evict it when there is time. Expects at most
  // pages_max() pages. What is returned here and below is valid until the next call.
  std::span<const Piece> insert(std::uint64_t file, io::PageRange range);

  // A device reads these: those that are here become the newest. How many are here.
  std::uint64_t refresh(std::uint64_t file, io::PageRange range);

  // A stream has read these: those that are here go before all that were not retired, in the order
  // in which they were. How many are here.
  std::uint64_t retire(std::uint64_t file, io::PageRange range);

  // A host program uses these, or they are gone (truncated, dropped by the program): they are here
  // no more, and nobody evicts them. How many were here.
  std::uint64_t release(std::uint64_t file, io::PageRange range);

  // All of a file. Returns what was here, in the file's order: evict it or leave it.
  std::span<const Piece> forget(std::uint64_t file);

  [[nodiscard]] bool contains(std::uint64_t file, std::uint64_t page) const;
  [[nodiscard]] std::uint64_t pages() const { return pages_; }
  // Of these, those that were retired.
  [[nodiscard]] std::uint64_t pages_retired() const { return pages_retired_; }
  [[nodiscard]] std::uint64_t pages_max() const { return pages_max_; }
  [[nodiscard]] std::uint64_t grain() const { return grain_; }
  [[nodiscard]] std::size_t ranges() const { return extents_.size(); }

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;  // File and first page.
  struct Extent {
    Place place;
    std::uint64_t pages = 0;
    Extent* older = nullptr;
    Extent* newer = nullptr;
    bool retired = false;
  };
  using Extents = std::map<Place, Extent>;

  Partition(std::uint64_t pages, std::uint64_t grain);

  // The first extent that ends behind a page of the file, or what comes after the file.
  Extents::iterator first_behind(std::uint64_t file, std::uint64_t page);
  // Adds an extent newer than `older`, or the oldest if that is null.
  void add(std::uint64_t file, io::PageRange range, Extent* older, bool retired = false);
  void count_off(const Extent& extent, std::uint64_t pages);
  // Returns the one behind it.
  Extents::iterator remove(Extents::iterator at);
  // Takes an extent's pages before `first` away. Returns it.
  Extents::iterator cut_front(Extents::iterator at, std::uint64_t first);
  // Takes a range out and writes what was here to pieces_, in the file's order.
  void take(std::uint64_t file, io::PageRange range);
  // Until there is room for so many pages; writes what goes to pieces_.
  void make_room(std::uint64_t pages);

  std::uint64_t pages_max_;
  std::uint64_t grain_;
  std::uint64_t pages_ = 0;
  std::uint64_t pages_retired_ = 0;
  Extents extents_;
  Extent* oldest_ = nullptr;
  Extent* newest_ = nullptr;
  Extent* retired_ = nullptr;  // The newest of the retired, which are the oldest of all.
  std::vector<Extents::node_type> spare_;  // Nodes for as many extents as there may be pages.
  std::vector<Piece> pieces_;
};

}  // namespace k2k::router
