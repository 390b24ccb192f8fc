#pragma once
// System calls without the C library's functions, because a preloaded library may intercept those
// to catch the program's calls, and the calls of io/ are not the program's. Each returns Linux'
// result: a negative errno for a failure.
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
  set_own(descriptor, false);  // First: after close(), another thread may get the number.
  static_cast<void>(raw(SYS_close, descriptor));
}

// The lowest number of K2K's descriptors. The program's own descriptors thus keep the numbers that
// they would have without K2K.
inline constexpr int high_number_min = 1000;

// True if the lower numbers are reserved for the program, as in an unmodified program: its
// descriptors have the same numbers and limit as without K2K.
inline constinit std::atomic<bool> high_numbers_only{false};

// Moves a descriptor to a high number, close-on-exec, and returns the new number, which is_own().
// If the limit of descriptors does not allow it: the descriptor keeps its number; with
// high_numbers_only it is closed instead, and the result is -EMFILE.
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
