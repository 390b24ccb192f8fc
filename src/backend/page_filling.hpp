#pragma once
// How one missing page comes to be: placed by the userfaultfd(2) of its range, from memory, from a
// file, or as zeros. Knows nothing of regions.
//
// Threading: from anywhere; async-signal-safe.

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/demand_pages.hpp"

namespace k2k::backend {

// Places [to, to + bytes) with the content of `source`, or zeroed and shared until written if it is
// nullptr. Pages that are there stay. Whole pages.
Populated place_pages(int faults, std::uintptr_t to, const std::byte* source, std::size_t bytes);

// Zeros: for a write pages of their own, because the shared one would fault once more.
Populated place_zeros(int faults, std::uintptr_t to, std::size_t bytes, PageAccess access);

// What a file gives for whole pages, rounded up to a page with zeros at the file's end. Errors:
// EAGAIN (cached_only, and not in the cache), ENXIO (the file ends), those of pread(2).
Populated read_pages(int file, std::int64_t offset, std::span<std::byte> to, Reading reading);

// How many of `bytes` from `from` on are in memory, up to the first page that is not; whole pages.
std::size_t resident_bytes(const std::byte* from, std::size_t bytes);

}  // namespace k2k::backend
