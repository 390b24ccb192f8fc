#pragma once
// Which pages of a file were evicted, to count those that are read ahead again: evicting them was a
// mistake, of which user space hears in no other way.
//
// A stream leaves one range behind. Beyond ranges_max of them the lowest is forgotten.
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
  // How many of these are here; they are no more.
  std::uint64_t take(io::PageRange range);
  [[nodiscard]] std::size_t ranges() const { return ranges_.size(); }

 private:
  std::vector<io::PageRange> ranges_;  // In the file's order, with pages between them.
};

}  // namespace k2k::router
