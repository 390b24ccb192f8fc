#pragma once
// A copy by non-temporal stores: the data leave the CPU in whole cache lines and stay in none of
// its caches. For memory that the CPU does not read again, above all a device's memory behind a PCI
// BAR, where a whole line costs one bus transaction, as a single byte does.
//
// Threading: pure.

#include <cstddef>
#include <span>

namespace k2k::io {

using StreamCopy = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

struct StreamCopyKind {
  const char* name = "";  // "avx512", "avx2", "sse2"
  StreamCopy copy = nullptr;
};

// The variants that this CPU supports, the widest first; the last one works on every x86-64.
std::span<const StreamCopyKind> stream_copies();

// Uses the widest variant. The ranges must not overlap. On return, the stores are ordered before
// all later ones (sfence).
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace k2k::io
