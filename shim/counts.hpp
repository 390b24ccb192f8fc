#pragma once
// What became of calls with device memory. K2K_IO_STATS=1 prints them to standard error when the
// program exits. Calls with host memory are not counted: that would cost them more than the check.
//
// Threading: any thread; each number is right, together they are a moment's.

#include <atomic>
#include <cstdint>

namespace k2k::shim {

using Count = std::atomic<std::uint64_t>;

struct Counts {
  Count reads{0};      // Served by the router library.
  Count writes{0};     // Likewise.
  Count pieces{0};     // Of vectored reads, each a request of its own.
  Count by_kernel{0};  // Not a file's data, or flags, or a mode that only the kernel gives right.
  Count without_router{0};  // The router library could not be loaded: libc had them.
  Count nested{0};          // From a signal handler within such a call: libc had them.
  Count forgotten{0};       // Files of which the program closed its last descriptor.
  Count unregistered{0};    // Allocations of device memory beyond k2k_io_ranges_max: libc has them.
  Count by_number{0};       // Of all that reached the router library: by syscall(2).
  Count rings{0};           // io_uring_setup(2) by syscall(2): what goes by them passes us by.
  Count kept{0};  // A descriptor was closed while the program had another one of the file.
};

[[gnu::visibility("hidden")]] extern Counts counts;

inline void count(Count& number) { number.fetch_add(1, std::memory_order_relaxed); }

}  // namespace k2k::shim
