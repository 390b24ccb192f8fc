#pragma once
// Memory that the kernel makes of huge pages where it can.
//
// A direct transfer is cut into segments that are contiguous in physical memory, and a device takes
// so many a request: here 8 MiB come with 1.0 GB/s into pages of 4 KiB and with 2.8 into huge ones.
// Memory of real devices is contiguous.
//
// Threading: from anywhere.

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace k2k {

inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

// Advice, for memory that begins with one: without it, it is memory as well.
inline void advise_huge_pages(void* memory, std::size_t bytes) {
  ::madvise(memory, bytes - bytes % huge_page_bytes, MADV_HUGEPAGE);
}

// As posix_memalign(3), and freed by std::free(): in whole huge pages what has room for one. Of
// small pages where the kernel has no others (transparent_hugepage is "never", or memory is short).
// Null: there is no memory.
inline void* allocate_in_huge_pages(std::size_t alignment, std::size_t bytes) {
  const bool huge = bytes >= huge_page_bytes;
  void* memory = nullptr;
  if (::posix_memalign(&memory, huge ? std::max(alignment, huge_page_bytes) : alignment, bytes) !=
      0) {
    return nullptr;
  }
  if (huge) advise_huge_pages(memory, bytes);
  return memory;
}

}  // namespace k2k
