#pragma once
// The functions of GPU vendors' libraries that allocate and free, and which stand behind ours.
// Their libraries may be there or not, and anywhere: nothing is looked for before the program
// calls.
//
// Threading: any thread, not from signal handlers.

#include <atomic>
#include <cstddef>

namespace k2k::shim {

// The next definition of a function that we stand in front of, found when it is first called:
//
//   behind us in the program's own order of libraries
//   in what the caller's library is linked to: loaded with RTLD_LOCAL, as interpreters do
//   in any library that is loaded
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
