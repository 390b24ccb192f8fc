#pragma once
// The evicted pages of a file, to count pages that are read ahead again: their eviction was a
// mistake, which user space cannot observe in another way.
//
// A stream leaves one range. Beyond ranges_max ranges the lowest one is dropped.
//
// Threading: one owner.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/file/page_range.hpp"

namespace k2k::router {

class Evicted {
 public:
  static constexpr std::size_t ranges_max = 64;

  void add(io::PageRange range);
  // Removes these pages. Returns how many of them were recorded.
  std::uint64_t take(io::PageRange range);
  [[nodiscard]] std::size_t ranges() const { return ranges_.size(); }

 private:
  std::vector<io::PageRange> ranges_;  // In the file's order, with pages between them.
};

}  // namespace k2k::router
