#include "shim/real.hpp"

#include <cstdarg>
#include <cstdint>
#include <cstdlib>

#include "shim/next_function.hpp"

#if !defined(__x86_64__)
#error "libk2k_io.so jumps by itself, here on x86-64 alone"
#endif

namespace k2k::shim {
namespace {

static_assert(sizeof(long) == 8 && sizeof(off_t) == 8, "pread is pread64");

template <std::size_t size>
struct Name {
  char text[size];
  constexpr Name(const char (&from)[size]) {
    for (std::size_t i = 0; i < size; ++i) text[i] = from[i];
  }
};

// libc has all of these functions since 2.34, which this library needs for dlsym() anyway.
template <class Function, Name name>
Function find() {
  static constexpr Name kept = name;
  static constexpr std::uint32_t hash = gnu_hash(kept.text);
  void* const found = next_function(kept.text, hash);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function>(found);
}

template <Name name, class Function>
Function settle(Function Functions::* field, Function first) {
  const auto found = find<Function, name>();
  enter(real.*field, found);
  // No change if check_calls() has replaced the entry.
  std::atomic_ref<Function>(entries.*field)
      .compare_exchange_strong(first, found, std::memory_order_relaxed);
  return found;
}

// The initial value of an entry.
template <auto field, Name name>
struct First;
template <class Answer, class... Words, Answer (*Functions::*field)(Words...), Name name>
struct First<field, name> {
  static Answer call(Words... words) { return settle<name>(field, &call)(words...); }
};

int first_fcntl(int descriptor, int command, ...) {
  std::va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  return settle<"fcntl64">(&Functions::fcntl, &first_fcntl)(descriptor, command, argument);
}

long first_syscall(long number, long a, long b, long c, long d, long e, long f) {
  const auto found = find<Syscall, "syscall">();
  enter(real_syscall, found);
  return found(number, a, b, c, d, e, f);
}

constexpr Functions at_first = {
    .read = First<&Functions::read, "read">::call,
    .pread = First<&Functions::pread, "pread64">::call,
    .readv = First<&Functions::readv, "readv">::call,
    .preadv = First<&Functions::preadv, "preadv64">::call,
    .preadv2 = First<&Functions::preadv2, "preadv64v2">::call,
    .write = First<&Functions::write, "write">::call,
    .pwrite = First<&Functions::pwrite, "pwrite64">::call,
    .writev = First<&Functions::writev, "writev">::call,
    .pwritev = First<&Functions::pwritev, "pwritev64">::call,
    .pwritev2 = First<&Functions::pwritev2, "pwritev64v2">::call,
    .advise = First<&Functions::advise, "posix_fadvise64">::call,
    .close = First<&Functions::close, "close">::call,
    .close_range = First<&Functions::close_range, "close_range">::call,
    .closefrom = First<&Functions::closefrom, "closefrom">::call,
    .dup2 = First<&Functions::dup2, "dup2">::call,
    .dup3 = First<&Functions::dup3, "dup3">::call,
    .fcntl = first_fcntl,
    .fclose = First<&Functions::fclose, "fclose">::call,
};

}  // namespace

constinit Functions real = at_first;
constinit Functions entries = at_first;
constinit Syscall real_syscall = first_syscall;

void check_calls() {
  static constinit bool checked = false;
  if (checked) return;
  checked = true;
  check_data_calls();
  check_descriptor_calls();
}

}  // namespace k2k::shim
