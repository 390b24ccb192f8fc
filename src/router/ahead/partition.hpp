#pragma once
// Tracks the pages that are in the page cache only because of read-ahead for a device, and chooses
// the pages to evict beyond a bound: first the pages that streams have read, then the least
// recently used.
//
//                insert: read ahead, absent before
//   (untracked) ---------------------------------> in the partition ---> evicted: the caller drops
//              <----------------------------------    ^      |            it from the page cache
//                release: a host program reads it,    '------'            (POSIX_FADV_DONTNEED)
//                or forget: the file is gone          refresh: a device reads it again
//                                                     retire: a stream has read it
//
// SPIN's GPU read-ahead cache (USENIX ATC'17, 4.3.2, 512 pages); retire() is an addition: with
// several streams, the least recently used pages are pages that the slowest stream has not read
// yet. Neighbours that were used at the same time are kept as one range, so an operation costs
// O(log n) and O(log n) for each range that it splits, moves or evicts; within a range the lower
// pages go first.
//
// The caller numbers the files. create() allocates all memory.
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

  // EINVAL: `pages` is 0 or above read_ahead_pages_max. `grain`: retired pages are evicted in
  // multiples of this many pages, because Linux keeps a folio that is evicted only in part; at
  // least 1.
  static Result<Partition> create(std::uint64_t pages, std::uint64_t grain = 1);

  Partition(Partition&&) = default;
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;

  // Adds absent pages that were read ahead; pages that are tracked already become the newest, too.
  // Returns the pages to evict, the oldest first. Expects at most pages_max() pages. Results, here
  // and below, are valid until the next call.
  std::span<const Piece> insert(std::uint64_t file, io::PageRange range);

  // A device reads these pages: the tracked ones become the newest. Returns their number.
  std::uint64_t refresh(std::uint64_t file, io::PageRange range);

  // A stream has read these pages: the tracked ones are evicted before all pages that are not
  // retired, in the order of their retirement. Returns their number.
  std::uint64_t retire(std::uint64_t file, io::PageRange range);

  // A host program uses these pages, or they no longer exist (truncated, evicted by the program):
  // stops tracking them without eviction. Returns the number of tracked pages.
  std::uint64_t release(std::uint64_t file, io::PageRange range);

  // Stops tracking a file. Returns its tracked pages in the file's order, for the caller to evict
  // or keep.
  std::span<const Piece> forget(std::uint64_t file);

  [[nodiscard]] bool contains(std::uint64_t file, std::uint64_t page) const;
  [[nodiscard]] std::uint64_t pages() const { return pages_; }
  // The retired pages among them.
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

  // The first extent that ends after a page of the file, or else the next extent after the file.
  Extents::iterator first_behind(std::uint64_t file, std::uint64_t page);
  // Adds an extent newer than `older`, or the oldest if that is null.
  void add(std::uint64_t file, io::PageRange range, Extent* older, bool retired = false);
  void count_off(const Extent& extent, std::uint64_t pages);
  // Returns the extent behind it.
  Extents::iterator remove(Extents::iterator at);
  // Removes an extent's pages before `first`. Returns the extent.
  Extents::iterator cut_front(Extents::iterator at, std::uint64_t first);
  // Removes a range and writes its tracked pages to pieces_, in the file's order.
  void take(std::uint64_t file, io::PageRange range);
  // Evicts until there is room for so many pages; writes the evicted pages to pieces_.
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
