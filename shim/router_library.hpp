#pragma once
// The router library, loaded at the first device pointer: $K2K_IO_LIBRARY, else
// libk2k_io_router.so beside this library. If it cannot be loaded, one line on standard error says
// why and what helps, and libc serves the calls.
//
// Threading: any thread.

#include <atomic>
#include <cstdint>

#include "shim/table.h"

namespace k2k::shim {

// Is this thread inside a call that we serve? Then a call that arrives is made by the router
// library, or by a signal handler: it is libc's, and takes no lock.
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

// Loads it. Null: it cannot be loaded. Not from within it.
const k2k_io_table* router_library();
// Null if it was not loaded.
const k2k_io_table* router_library_if_loaded();
// Where its code lies: nowhere until it is loaded.
struct Code {
  std::atomic<std::uintptr_t> first{0};
  std::atomic<std::uintptr_t> last{0};
};
[[gnu::visibility("hidden")]] extern Code router_code;

// Is this an address of its code?
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
