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

// Waits until `bytes` from `from` on are in memory. They may be taken away again at any time, and
// what cannot be read is left to the reader: an attempt.
void bring_into_memory(const std::byte* from, std::size_t bytes);

}  // namespace k2k::backend
