#pragma once
// A copy by non-temporal stores: what is written leaves the CPU in whole cache lines and stays in
// none of its caches. For memory that the CPU does not read again, above all a device's behind a
// PCI BAR, where a line is one bus transaction and a byte is one, too.
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

// Uses the widest variant. The ranges do not overlap. When it returns, the stores are ordered
// before all later ones (sfence).
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace k2k::io
