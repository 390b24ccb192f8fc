#pragma once
// A system call by its number, with Linux' convention: returns the result or a negative errno, and
// leaves errno unchanged. The C library's functions may be replaced by a preloaded library that
// intercepts a program's calls, are cancellation points, and take 5 to 10 ns more.
//
// Threading: from anywhere, signal handlers included.

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <type_traits>

namespace k2k {

namespace system_call_detail {

template <class Argument>
inline long word(Argument argument) {
  if constexpr (std::is_pointer_v<Argument>) {
    return reinterpret_cast<long>(argument);
  } else if constexpr (std::is_null_pointer_v<Argument>) {
    return 0;
  } else {
    static_assert(std::is_integral_v<Argument> || std::is_enum_v<Argument>);
    return static_cast<long>(argument);
  }
}

inline std::int64_t call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long value = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "+a"(value)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return value;
#else
  const int before = errno;
  const long value = ::syscall(number, a, b, c, d, e, f);
  const int code = errno;
  errno = before;
  return value == -1 ? -static_cast<std::int64_t>(code) : value;
#endif
}

}  // namespace system_call_detail

// Answers from -errno_max to -1 are errors.
inline constexpr std::int64_t errno_max = 4095;
constexpr bool is_error(std::int64_t answer) { return answer < 0 && answer >= -errno_max; }

// Up to six arguments: integers and pointers.
template <class... Arguments>
inline std::int64_t system_call(long number, Arguments... arguments) {
  static_assert(sizeof...(Arguments) <= 6);
  const long words[7] = {system_call_detail::word(arguments)..., 0};
  return system_call_detail::call(number, words[0], words[1], words[2], words[3], words[4],
                                  words[5]);
}

}  // namespace k2k
