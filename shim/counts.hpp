#pragma once
// The numbers of calls with device memory, by outcome. K2K_IO_STATS=1 prints them to standard error
// when the program exits. Calls with host memory are not counted: a count would cost them more than
// the check.
//
// Threading: any thread; each number is right, together they are a moment's.

#include <atomic>
#include <cstdint>

namespace k2k::shim {

using Count = std::atomic<std::uint64_t>;

struct Counts {
  Count reads{0};           // Served by the router library.
  Count writes{0};          // As `reads`.
  Count pieces{0};          // The pieces of vectored reads, each a request of its own.
  Count by_kernel{0};       // No data of a file, or flags or a mode that only Linux supports.
  Count without_router{0};  // The router library could not be loaded: libc made the call.
  Count nested{0};          // From a signal handler within such a call: libc made the call.
  Count forgotten{0};       // Files whose last descriptor the program closed.
  Count unregistered{0};    // Allocations beyond k2k_io_ranges_max: libc makes their calls.
  Count by_number{0};       // The served calls that came by syscall(2).
  Count rings{0};           // io_uring_setup(2) by syscall(2); rings bypass this library.
  Count kept{0};  // Descriptors closed while the program had another descriptor of the file.
};

[[gnu::visibility("hidden")]] extern Counts counts;

inline void count(Count& number) { number.fetch_add(1, std::memory_order_relaxed); }

}  // namespace k2k::shim
