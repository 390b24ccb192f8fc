#pragma once
// The router library, loaded at the first device pointer: $K2K_IO_LIBRARY, else libk2k_io_router.so
// beside this library. If it cannot be loaded, one line on standard error gives the reason and the
// remedy, and libc serves the calls.
//
// Threading: any thread.

#include <atomic>
#include <cstdint>

#include "shim/table.h"

namespace k2k::shim {

// Is this thread inside a served call? Then another call comes from the router library or from a
// signal handler: libc makes it, and no lock is taken.
class Inside {
 public:
  Inside() { ++depth_; }
  ~Inside() { --depth_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  static bool now() { return depth_ != 0; }

 private:
  static thread_local constinit int depth_;
};

// Loads the router library; null if it cannot be loaded. Not to be called by the router library.
const k2k_io_table* router_library();
// The router library; null if it was not loaded.
const k2k_io_table* router_library_if_loaded();
// The addresses of the router library's code: none until it is loaded.
struct Code {
  std::atomic<std::uintptr_t> first{0};
  std::atomic<std::uintptr_t> last{0};
};
[[gnu::visibility("hidden")]] extern Code router_code;

// Is this an address of the router library's code?
inline bool in_router_library(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return at >= router_code.first.load(std::memory_order_relaxed) &&
         at < router_code.last.load(std::memory_order_relaxed);
}

// Around fork(): no thread loads the library meanwhile, and the child's copy abandons the parent's
// engines.
void router_library_before_fork();
void router_library_after_fork(bool child);

}  // namespace k2k::shim
