#pragma once
// Device memory that was freed keeps its addresses for a while, without access. Otherwise Linux
// gives them to the next mapping, the emulator's own included, and a kernel that still uses the
// freed memory is not found.
//
// Threading: none of its own.

#include <cstddef>
#include <cstdint>
#include <deque>

namespace k2k::emulator::driver {

class FreedPages {
 public:
  static constexpr std::size_t ranges_max = 1024;  // A range is a mapping; Linux allows 65,530.

  FreedPages() = default;
  FreedPages(const FreedPages&) = delete;
  FreedPages& operator=(const FreedPages&) = delete;
  ~FreedPages();

  // Takes a private mapping: whole pages. The oldest range leaves where there are too many.
  void add(std::uint64_t begin, std::uint64_t bytes);

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
  };
  std::deque<Range> ranges_;  // The oldest first.
};

}  // namespace k2k::emulator::driver
