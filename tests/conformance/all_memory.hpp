#pragma once
// A process that has no memory left.
//
// Threading: one at a time; mallopt(M_ARENA_MAX, 1) before the first thread.

#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace k2k::conformance {

// Allocates all available memory; its destructor frees it.
class AllMemory {
 public:
  AllMemory() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit none{pages * 4096, before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &none);
    for (std::size_t bytes = 1 << 20; bytes >= sizeof(void*); bytes /= 2) {
      while (void* const memory = std::malloc(bytes)) {
        *static_cast<void**>(memory) = first_;
        first_ = memory;
      }
    }
  }
  ~AllMemory() {
    ::setrlimit(RLIMIT_AS, &before_);
    while (first_ != nullptr) std::free(std::exchange(first_, *static_cast<void**>(first_)));
  }
  AllMemory(const AllMemory&) = delete;
  AllMemory& operator=(const AllMemory&) = delete;

 private:
  rlimit before_{};
  void* first_ = nullptr;
};

}  // namespace k2k::conformance
