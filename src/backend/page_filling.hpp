#pragma once
// Fills missing pages: by the userfaultfd(2) of their range, from memory, from a file, or with
// zeros. Does not depend on regions.
//
// Threading: from anywhere; async-signal-safe.

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/demand_pages.hpp"

namespace k2k::backend {

// Pages per mincore(2) call.
inline constexpr std::size_t residency_pages = 256;

// Places [to, to + bytes) with the content of `source`, or, if it is nullptr, with zeros that are
// shared until written. Present pages stay unchanged. Whole pages.
Populated place_pages(int faults, std::uintptr_t to, const std::byte* source, std::size_t bytes);

// Zeros. For a write, private pages at once, because the shared page would fault once more.
Populated place_zeros(int faults, std::uintptr_t to, std::size_t bytes, PageAccess access);

// Reads whole pages from a file, rounded up to a page with zeros at the file's end. Errors: EAGAIN
// (cached_only, and not in the cache), ENXIO (the file ends), as pread(2).
Populated read_pages(int file, std::int64_t offset, std::span<std::byte> to, Reading reading);

// The number of `bytes` from `from` on in memory, up to the first missing page; whole pages.
std::size_t resident_bytes(const std::byte* from, std::size_t bytes);

// Reads one page of a region, whatever its size, with zeros behind the file's end. 0 or a positive
// errno, as read_pages(): ENXIO only if the file has no byte of it.
int read_page(int file, std::int64_t offset, std::span<std::byte> page, Reading reading);

// Copies one page by Linux, which answers where the source cannot be read. 0 or a positive errno:
// EAGAIN (cached_only, and not in memory), EFAULT.
int copy_page(const std::byte* source, std::span<std::byte> page, Reading reading);

// A large page that is made aside, and moved to its place as it is: a huge page of Linux where
// Linux has one to give, and can move it (6.8); else small pages, which are moved or copied one by
// one.
class LargePage {
 public:
  LargePage() noexcept;
  ~LargePage();
  LargePage(const LargePage&) = delete;
  LargePage& operator=(const LargePage&) = delete;

  // 0, or a positive errno: there is no memory for it.
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return {page_, large_page_bytes}; }
  // What is missing of the large page at `to`. Several threads may place parts of it: the one that
  // places the first part counts as the one that placed it. Afterwards there are no bytes() any
  // more.
  Populated place(int faults, std::uintptr_t to);

 private:
  void* mapping_;
  std::byte* page_ = nullptr;
  int error_ = 0;
};

// Address space for `bytes` that begins at a multiple of `page_bytes`, or MAP_FAILED and errno.
void* map_pages(std::size_t bytes, std::size_t page_bytes);

// Waits until `bytes` from `from` on are in memory. They may be taken away again at any time, and
// what cannot be read is left to the reader: an attempt.
void bring_into_memory(const std::byte* from, std::size_t bytes);

}  // namespace k2k::backend
