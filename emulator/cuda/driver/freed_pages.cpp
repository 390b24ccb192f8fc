#include "emulator/cuda/driver/freed_pages.hpp"

#include <sys/mman.h>

namespace k2k::emulator::driver {

namespace {

void unmap(std::uint64_t begin, std::uint64_t bytes) {
  ::munmap(reinterpret_cast<void*>(begin), bytes);
}

}  // namespace

FreedPages::~FreedPages() {
  for (const Range& range : ranges_) unmap(range.begin, range.bytes);
}

void FreedPages::add(std::uint64_t begin, std::uint64_t bytes) {
  // A new mapping in place of the old one returns the memory to Linux.
  void* const kept = ::mmap(reinterpret_cast<void*>(begin), bytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (kept == MAP_FAILED) return unmap(begin, bytes);
  ranges_.push_back({begin, bytes});
  if (ranges_.size() <= ranges_max) return;
  unmap(ranges_.front().begin, ranges_.front().bytes);
  ranges_.pop_front();
}

}  // namespace k2k::emulator::driver
