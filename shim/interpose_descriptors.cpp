// What libk2k_io.so puts in front of libc: closing descriptors, and changing their flags.
//
// In a program that never used device memory each costs the look at one word. dup(), F_DUPFD and
// opening are not here: see descriptors.hpp.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "base/api.hpp"
#include "shim/closing.hpp"
#include "shim/descriptors.hpp"
#include "shim/far_side.hpp"
#include "shim/real.hpp"

using k2k::shim::before_close;
using k2k::shim::close_ours;
using k2k::shim::closes_matter;
using k2k::shim::in_far_side;
using k2k::shim::may_close;
using k2k::shim::may_replace;
using k2k::shim::real;
using k2k::shim::tracked;

#define K2K_CALLER __builtin_return_address(0)

extern "C" {

K2K_API int close(int descriptor) {
  if (closes_matter() && !may_close(descriptor, K2K_CALLER)) [[unlikely]]
    return -1;
  return real.close(descriptor);
}

K2K_API int fclose(std::FILE* file) {
  if (closes_matter() && !in_far_side(K2K_CALLER)) [[unlikely]] {
    const int before = errno;
    std::fflush(file);  // It is still the program's file until its last write.
    const int descriptor = fileno(file);
    errno = before;
    if (descriptor >= 0) before_close(descriptor, descriptor);
  }
  return real.fclose(file);
}

K2K_API int close_range(unsigned first, unsigned last, int flags) noexcept {
  // With flags nothing is closed, or in another table than the one that we know.
  if (closes_matter() && flags == 0) [[unlikely]]
    return close_ours(first, last);
  return real.close_range(first, last, flags);
}

K2K_API void closefrom(int first) noexcept {
  if (closes_matter()) [[unlikely]] {
    close_ours(first < 0 ? 0 : static_cast<unsigned>(first), ~0u);
    return;
  }
  real.closefrom(first);
}

K2K_API int dup2(int from, int to) noexcept {
  if (closes_matter() && !may_replace(from, to, K2K_CALLER)) [[unlikely]]
    return -1;
  return real.dup2(from, to);
}

K2K_API int dup3(int from, int to, int flags) noexcept {
  if (closes_matter() && !may_replace(from, to, K2K_CALLER)) [[unlikely]]
    return -1;
  return real.dup3(from, to, flags);
}

K2K_API int fcntl(int descriptor, int command, ...) {
  std::va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  const int answer = real.fcntl(descriptor, command, argument);
  if (command == F_SETFL && closes_matter()) [[unlikely]]
    tracked.renew();
  return answer;
}

K2K_API __attribute__((alias("fcntl"))) int fcntl64(int, int, ...);

}  // extern "C"
