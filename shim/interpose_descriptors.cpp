// What libk2k_io.so puts in front of libc: closing descriptors, and changing their flags.
//
// In a program that never used device memory each costs the look at one word. dup(), F_DUPFD and
// opening are not here: see descriptors.hpp.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>

#include "base/api.hpp"
#include "shim/descriptors.hpp"
#include "shim/far_side.hpp"
#include "shim/open_numbers.hpp"
#include "shim/real.hpp"

using k2k::shim::any_open_number;
using k2k::shim::before_close;
using k2k::shim::closes_matter;
using k2k::shim::in_far_side;
using k2k::shim::is_far_sides;
using k2k::shim::real;
using k2k::shim::tracked;

namespace {

// False: to the program it is not open.
[[gnu::cold, gnu::noinline]] bool may_close(int descriptor, const void* caller) {
  if (in_far_side(caller)) return true;
  if (is_far_sides(descriptor)) return errno = EBADF, false;
  before_close(descriptor, descriptor);
  return true;
}

// The lowest of the far side's descriptors from `first` on; INT_MAX if there is none.
int next_far_sides(int first, int last) {
  int lowest = INT_MAX;
  any_open_number(first, last, [&](int number) {
    if (number < lowest && is_far_sides(number)) lowest = number;
    return false;
  });
  return lowest;
}

// Closes the program's descriptors of first..last, one stretch between two of the far side's after
// another.
[[gnu::cold, gnu::noinline]] int close_ours(unsigned first, unsigned last) {
  if (first > last) return real.close_range(first, last, 0);  // EINVAL
  const int end = last > INT_MAX ? INT_MAX : static_cast<int>(last);
  int at = first > INT_MAX ? INT_MAX : static_cast<int>(first);
  before_close(at, end);
  while (at <= end) {
    const int spared = next_far_sides(at, end);
    if (spared == INT_MAX) return real.close_range(static_cast<unsigned>(at), last, 0);
    if (spared > at) {
      real.close_range(static_cast<unsigned>(at), static_cast<unsigned>(spared) - 1, 0);
    }
    at = spared + 1;
  }
  return 0;
}

// Before `to` becomes a copy of `from`. False: it must not.
[[gnu::cold, gnu::noinline]] bool may_replace(int from, int to, const void* caller) {
  if (in_far_side(caller) || from == to || real.fcntl(from, F_GETFD) < 0) return true;
  // To move the twin away would drop locks. The kernel knows this error, too.
  if (is_far_sides(to)) return errno = EBUSY, false;
  before_close(to, to);
  return true;
}

}  // namespace

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
