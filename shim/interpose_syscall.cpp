// What libk2k_io.so puts in front of libc's syscall(2): the calls that it serves by their names,
// made by their numbers.
//
// Unlike the functions of those names, syscall() is no cancellation point, and stays none. Other
// calls go to libc's syscall() with all registers. Every other number costs a jump by a table and a
// jump to libc.

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>

#include "base/api.hpp"
#include "shim/closing.hpp"
#include "shim/counts.hpp"
#include "shim/descriptors.hpp"
#include "shim/real.hpp"
#include "shim/router_library.hpp"
#include "shim/serve.hpp"

namespace k2k::shim {
namespace {

static_assert(sizeof(long) == 8, "an offset is one word");

struct Words {
  long a, b, c, d, e, f;
};

struct Form {
  bool write;
  bool vector;
  bool at_position;
  bool flags;
};

Form form_of(long number, const Words& words) {
  switch (number) {
    case SYS_read:
      return {false, false, true, false};
    case SYS_write:
      return {true, false, true, false};
    case SYS_pread64:
      return {false, false, false, false};
    case SYS_pwrite64:
      return {true, false, false, false};
    case SYS_readv:
      return {false, true, true, false};
    case SYS_writev:
      return {true, true, true, false};
    case SYS_preadv:
      return {false, true, false, false};
    case SYS_pwritev:
      return {true, true, false, false};
    case SYS_preadv2:
      return {false, true, words.d == -1, true};
    default:
      return {true, true, words.d == -1, true};  // SYS_pwritev2
  }
}

// Linux takes the lower half of a descriptor's word.
int descriptor_of(long word) { return static_cast<int>(word); }

long pass(long number, const Words& words) {
  return real_syscall(number, words.a, words.b, words.c, words.d, words.e, words.f);
}

// A read or write that may be of device memory, or of pages that the router library holds.
[[gnu::noinline]] long moves(long number, const Words& words, const void* caller) {
  if (in_router_library(caller)) return pass(number, words);
  const Form form = form_of(number, words);
  const iovec one{reinterpret_cast<void*>(words.b), static_cast<std::size_t>(words.c)};
  const iovec* const pieces = form.vector ? reinterpret_cast<const iovec*>(words.b) : &one;
  const bool is_count = !form.vector || (words.c >= 0 && words.c <= IOV_MAX);
  const int count = form.vector ? static_cast<int>(is_count ? words.c : 0) : 1;
  ssize_t answer = 0;
  if (is_count && near_any(pieces, count)) {
    const bool served = serve({.descriptor = descriptor_of(words.a),
                               .pieces = pieces,
                               .count = count,
                               .write = form.write,
                               .at_position = form.at_position,
                               .offset = form.at_position ? 0 : words.d,
                               .flags = form.flags ? static_cast<int>(words.f) : 0,
                               .caller = caller,
                               .by_number = true},
                              &answer);
    if (served) return answer;
  }
  const long moved = pass(number, words);
  if (moved > 0 && ranges.watched()) {
    host_used(descriptor_of(words.a), form.at_position, words.d, moved);
  }
  return moved;
}

[[gnu::cold, gnu::noinline]] long closes(long number, const Words& words, const void* caller) {
  const int first = descriptor_of(words.a);
  const int second = descriptor_of(words.b);
  switch (number) {
    case SYS_close:
      return may_close(first, caller) ? pass(number, words) : -1;
    case SYS_dup2:
    case SYS_dup3:
      return may_replace(first, second, caller) ? pass(number, words) : -1;
    case SYS_close_range:
      if (words.c != 0 || in_router_library(caller)) return pass(number, words);
      return close_ours(static_cast<unsigned>(words.a), static_cast<unsigned>(words.b));
    default: {  // SYS_fcntl
      const long answer = pass(number, words);
      if (words.b == F_SETFL) tracked.renew();
      return answer;
    }
  }
}

}  // namespace
}  // namespace k2k::shim

// As syscall(long, ...): a function with six words has them in the same places as a variadic
// function, and Linux ignores words that were not given. The seventh word is only read: if it is
// absent, its place belongs to the caller, and another thread may be writing there.
extern "C" K2K_API long k2k_io_syscall(long number, long a, long b, long c, long d, long e,
                                       ...) __asm__("syscall");

extern "C" long k2k_io_syscall(long number, long a, long b, long c, long d, long e, ...) {
  using namespace k2k::shim;
  std::va_list list;
  va_start(list, e);
  const long f = va_arg(list, long);
  va_end(list);
  switch (number) {
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
      if (!ranges.near(reinterpret_cast<const void*>(b))) [[likely]]
        break;
      return moves(number, {a, b, c, d, e, f}, __builtin_return_address(0));
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_preadv2:
    case SYS_pwritev2:
      if (ranges.empty()) [[likely]]
        break;
      return moves(number, {a, b, c, d, e, f}, __builtin_return_address(0));
    case SYS_close:
    case SYS_dup2:
    case SYS_dup3:
    case SYS_close_range:
    case SYS_fcntl:
      if (!closes_matter()) [[likely]]
        break;
      return closes(number, {a, b, c, d, e, f}, __builtin_return_address(0));
    case SYS_io_uring_setup:
      if (!in_router_library(__builtin_return_address(0)) && !Inside::now()) count(counts.rings);
      break;
    default:
      break;
  }
  return real_syscall(number, a, b, c, d, e, f);
}
