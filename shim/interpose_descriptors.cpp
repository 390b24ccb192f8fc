// What libk2k_io.so puts in front of libc: closing descriptors, and changing their flags.
//
// Each costs a jump (real.hpp); once there is device memory, the look at one word, too. dup(),
// F_DUPFD and opening are not here: see descriptors.hpp.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "base/api.hpp"
#include "shim/closing.hpp"
#include "shim/descriptors.hpp"
#include "shim/real.hpp"
#include "shim/router_library.hpp"

using k2k::shim::before_close;
using k2k::shim::close_ours;
using k2k::shim::closes_matter;
using k2k::shim::enter;
using k2k::shim::entries;
using k2k::shim::in_router_library;
using k2k::shim::may_close;
using k2k::shim::may_replace;
using k2k::shim::real;
using k2k::shim::tracked;

#define K2K_CALLER __builtin_return_address(0)

namespace {

int checked_close(int descriptor) {
  if (closes_matter() && !may_close(descriptor, K2K_CALLER)) [[unlikely]]
    return -1;
  return real.close(descriptor);
}

int checked_fclose(std::FILE* file) {
  if (closes_matter() && !in_router_library(K2K_CALLER)) [[unlikely]] {
    const int before = errno;
    std::fflush(file);  // It is still the program's file until its last write.
    const int descriptor = fileno(file);
    errno = before;
    if (descriptor >= 0) before_close(descriptor, descriptor);
  }
  return real.fclose(file);
}

int checked_close_range(unsigned first, unsigned last, int flags) {
  // With flags the call closes nothing, or closes descriptors of another table.
  if (closes_matter() && flags == 0) [[unlikely]]
    return close_ours(first, last);
  return real.close_range(first, last, flags);
}

void checked_closefrom(int first) {
  if (closes_matter()) [[unlikely]] {
    close_ours(first < 0 ? 0 : static_cast<unsigned>(first), ~0u);
    return;
  }
  real.closefrom(first);
}

int checked_dup2(int from, int to) {
  if (closes_matter() && !may_replace(from, to, K2K_CALLER)) [[unlikely]]
    return -1;
  return real.dup2(from, to);
}

int checked_dup3(int from, int to, int flags) {
  if (closes_matter() && !may_replace(from, to, K2K_CALLER)) [[unlikely]]
    return -1;
  return real.dup3(from, to, flags);
}

int checked_fcntl(int descriptor, int command, ...) {
  std::va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  const int answer = real.fcntl(descriptor, command, argument);
  if (command == F_SETFL && closes_matter()) [[unlikely]]
    tracked.renew();
  return answer;
}

}  // namespace

void k2k::shim::check_descriptor_calls() {
  enter(entries.close, &checked_close);
  enter(entries.close_range, &checked_close_range);
  enter(entries.closefrom, &checked_closefrom);
  enter(entries.dup2, &checked_dup2);
  enter(entries.dup3, &checked_dup3);
  enter(entries.fcntl, &checked_fcntl);
  enter(entries.fclose, &checked_fclose);
}

extern "C" {

K2K_JUMPS(close, 11, int close(int))
K2K_JUMPS(close_range, 12, int close_range(unsigned, unsigned, int) noexcept)
K2K_JUMPS(closefrom, 13, void closefrom(int) noexcept)
K2K_JUMPS(dup2, 14, int dup2(int, int) noexcept)
K2K_JUMPS(dup3, 15, int dup3(int, int, int) noexcept)
K2K_JUMPS(fcntl, 16, int fcntl(int, int, ...))
K2K_JUMPS(fclose, 17, int fclose(std::FILE*))

K2K_API __attribute__((alias("fcntl"))) int fcntl64(int, int, ...);

}  // extern "C"
