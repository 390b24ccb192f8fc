#pragma once
// System calls without the C library's functions: those may be a preloaded library's that catches a
// program's calls, and what io/ does is not the program's. Each returns what the kernel does, a
// negative errno for a failure.
//
// Threading: from anywhere.

#include <fcntl.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/own_descriptors.hpp"
#include "base/system_call.hpp"

namespace k2k::io {

template <class... Arguments>
inline std::int64_t raw(long number, Arguments... arguments) {
  return system_call(number, arguments...);
}

inline void raw_close(int descriptor) {
  set_own(descriptor, false);  // First: afterwards the number may be somebody else's.
  static_cast<void>(raw(SYS_close, descriptor));
}

// Where K2K's descriptors begin: a program's own are then the numbers they would be without it.
inline constexpr int high_number_min = 1000;

// Are the lower numbers the program's alone? So it is in a program that knows nothing of K2K: it
// finds its own descriptors, and as many of them as without.
inline constinit std::atomic<bool> high_numbers_only{false};

// Moves a descriptor to a high number, close-on-exec, and returns that, which is_own(). Where the
// limit of descriptors does not allow it: leaves it where it is, or, if high_numbers_only, closes
// it and returns -EMFILE.
inline int moved_high(int descriptor) {
  const std::int64_t high = raw(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, high_number_min);
  const bool stays = high < 0 && !high_numbers_only.load(std::memory_order_relaxed);
  if (!stays) raw_close(descriptor);
  if (high < 0 && !stays) return -EMFILE;
  const int number = stays ? descriptor : static_cast<int>(high);
  set_own(number, true);
  return number;
}

}  // namespace k2k::io
