#pragma once
// Sleeping and waking by address: the one system call behind every wait of a backend.
//
// A condition variable cannot be used, because resume(), cancel() and interrupt() are called from
// signal handlers and from fibres, where a lock must not be taken.
//
// Threading: both may be called from anywhere and leave errno unchanged. A waiter returns when
// woken, when the word is not `expected`, when the time is up, or spuriously: check again.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>

#include "base/units.hpp"

namespace k2k::backend {

inline void futex_call(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
                       const timespec* timeout) noexcept {
  const int errno_before = errno;
  syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
  errno = errno_before;
}

inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       Nanoseconds longest) noexcept {
  const std::int64_t count = longest.count() < 0 ? 0 : longest.count();
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(count / 1'000'000'000);
  timeout.tv_nsec = static_cast<long>(count % 1'000'000'000);
  futex_call(word, FUTEX_WAIT, expected, &timeout);
}

inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  futex_call(word, FUTEX_WAIT, expected, nullptr);
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  futex_call(word, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace k2k::backend
