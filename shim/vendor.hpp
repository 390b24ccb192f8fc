#pragma once
// The functions of GPU vendors' libraries that allocate and free memory. These libraries may be
// absent, or anywhere: the search begins with the program's first call.
//
// Threading: any thread, not from signal handlers.

#include <atomic>
#include <cstddef>

namespace k2k::shim {

// The next definition of a function behind this library, found at its first call:
//
//   in the program's own order of libraries, behind this library
//   in the libraries that the caller's library is linked to: with RTLD_LOCAL, as interpreters load
//   in any loaded library
//
// Null: no library has it. Constant-initialised.
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  void* find(const void* caller);

 private:
  const char* const name_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace k2k::shim
