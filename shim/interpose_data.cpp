// What libk2k_io.so puts in front of libc: reads, writes and advice.
//
// A call costs a jump (real.hpp); once there is device memory, the comparison of near() and
// another.

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/api.hpp"
#include "k2k/io.h"
#include "shim/real.hpp"
#include "shim/router_library.hpp"
#include "shim/serve.hpp"

// g++ assumes that read(2) does not read the buffer; this library compares its address.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

using k2k::shim::enter;
using k2k::shim::entries;
using k2k::shim::host_used;
using k2k::shim::HostCall;
using k2k::shim::in_router_library;
using k2k::shim::near_any;
using k2k::shim::ranges;
using k2k::shim::real;
using k2k::shim::serve;
using k2k::shim::serve_at;

namespace {

// The slow ways, out of line, so that the fast way is a comparison and a jump. The slow ways
// exclude host memory between two devices' first. libc also makes the calls that serve() refuses.

bool one(int descriptor, const void* memory, size_t bytes, bool write, bool at_position,
         off_t offset, const void* caller, ssize_t* answer) {
  const iovec piece{const_cast<void*>(memory), bytes};
  return serve({.descriptor = descriptor,
                .pieces = &piece,
                .count = 1,
                .write = write,
                .at_position = at_position,
                .offset = offset,
                .caller = caller},
               answer);
}

bool many(int descriptor, const iovec* pieces, int count, bool write, bool at_position,
          off_t offset, int flags, const void* caller, ssize_t* answer) {
  return serve({.descriptor = descriptor,
                .pieces = pieces,
                .count = count,
                .write = write,
                .at_position = at_position,
                .offset = offset,
                .flags = flags,
                .caller = caller},
               answer);
}

// Returns libc's answer to the program. The router library may hold pages of that range. Appended
// bytes do not lie at the call's offset.
ssize_t seen(int descriptor, bool at_position, off_t offset, ssize_t moved) {
  if (moved > 0 && ranges.watched()) host_used(descriptor, at_position, offset, moved);
  return moved;
}

[[gnu::noinline]] ssize_t slow_read(int descriptor, void* memory, size_t bytes,
                                    const void* caller) {
  if (in_router_library(caller)) return real.read(descriptor, memory, bytes);
  if (ranges.holds(memory, bytes)) {
    ssize_t answer;
    if (one(descriptor, memory, bytes, false, true, 0, caller, &answer)) return answer;
  }
  return seen(descriptor, true, 0, real.read(descriptor, memory, bytes));
}

[[gnu::noinline]] ssize_t slow_pread(int descriptor, void* memory, size_t bytes, off_t offset,
                                     const void* caller) {
  if (in_router_library(caller)) return real.pread(descriptor, memory, bytes, offset);
  if (const int kind = ranges.kind_of(memory, bytes); kind != 0) {
    ssize_t answer;
    if (kind == k2k_io_mapped && serve_at(descriptor, memory, bytes, offset, &answer))
      return answer;
    if (one(descriptor, memory, bytes, false, false, offset, caller, &answer)) return answer;
  }
  return seen(descriptor, false, offset, real.pread(descriptor, memory, bytes, offset));
}

[[gnu::noinline]] ssize_t slow_write(int descriptor, const void* memory, size_t bytes,
                                     const void* caller) {
  if (in_router_library(caller)) return real.write(descriptor, memory, bytes);
  if (ranges.holds(memory, bytes)) {
    ssize_t answer;
    if (one(descriptor, memory, bytes, true, true, 0, caller, &answer)) return answer;
  }
  return seen(descriptor, true, 0, real.write(descriptor, memory, bytes));
}

[[gnu::noinline]] ssize_t slow_pwrite(int descriptor, const void* memory, size_t bytes,
                                      off_t offset, const void* caller) {
  if (in_router_library(caller)) return real.pwrite(descriptor, memory, bytes, offset);
  if (ranges.holds(memory, bytes)) {
    ssize_t answer;
    if (one(descriptor, memory, bytes, true, false, offset, caller, &answer)) return answer;
  }
  return seen(descriptor, false, offset, real.pwrite(descriptor, memory, bytes, offset));
}

[[gnu::noinline]] ssize_t slow_readv(int descriptor, const iovec* pieces, int count,
                                     const void* caller) {
  ssize_t answer;
  const bool served = near_any(pieces, count) &&
                      many(descriptor, pieces, count, false, true, 0, 0, caller, &answer);
  if (served) return answer;
  const ssize_t moved = real.readv(descriptor, pieces, count);
  return in_router_library(caller) ? moved : seen(descriptor, true, 0, moved);
}

[[gnu::noinline]] ssize_t slow_preadv(int descriptor, const iovec* pieces, int count, off_t offset,
                                      const void* caller) {
  ssize_t answer;
  const bool served = near_any(pieces, count) &&
                      many(descriptor, pieces, count, false, false, offset, 0, caller, &answer);
  if (served) return answer;
  const ssize_t moved = real.preadv(descriptor, pieces, count, offset);
  return in_router_library(caller) ? moved : seen(descriptor, false, offset, moved);
}

[[gnu::noinline]] ssize_t slow_preadv2(int descriptor, const iovec* pieces, int count, off_t offset,
                                       int flags, const void* caller) {
  ssize_t answer;
  const bool served =
      many(descriptor, pieces, count, false, offset == -1, offset, flags, caller, &answer);
  if (served) return answer;
  const ssize_t moved = real.preadv2(descriptor, pieces, count, offset, flags);
  return in_router_library(caller) ? moved : seen(descriptor, offset == -1, offset, moved);
}

[[gnu::noinline]] ssize_t slow_writev(int descriptor, const iovec* pieces, int count,
                                      const void* caller) {
  ssize_t answer;
  const bool served =
      near_any(pieces, count) && many(descriptor, pieces, count, true, true, 0, 0, caller, &answer);
  if (served) return answer;
  const ssize_t moved = real.writev(descriptor, pieces, count);
  return in_router_library(caller) ? moved : seen(descriptor, true, 0, moved);
}

[[gnu::noinline]] ssize_t slow_pwritev(int descriptor, const iovec* pieces, int count, off_t offset,
                                       const void* caller) {
  ssize_t answer;
  const bool served = near_any(pieces, count) &&
                      many(descriptor, pieces, count, true, false, offset, 0, caller, &answer);
  if (served) return answer;
  const ssize_t moved = real.pwritev(descriptor, pieces, count, offset);
  return in_router_library(caller) ? moved : seen(descriptor, false, offset, moved);
}

[[gnu::noinline]] ssize_t slow_pwritev2(int descriptor, const iovec* pieces, int count,
                                        off_t offset, int flags, const void* caller) {
  ssize_t answer;
  const bool served =
      many(descriptor, pieces, count, true, offset == -1, offset, flags, caller, &answer);
  if (served) return answer;
  const ssize_t moved = real.pwritev2(descriptor, pieces, count, offset, flags);
  return in_router_library(caller) ? moved : seen(descriptor, offset == -1, offset, moved);
}

[[gnu::noinline]] int slow_advise(int descriptor, off_t offset, off_t bytes, int advice,
                                  const void* caller) {
  int answer;
  const bool served = k2k::shim::advise(descriptor, offset, bytes, advice, caller, &answer);
  return served ? answer : real.advise(descriptor, offset, bytes, advice);
}

// The address that a call returns to tells the router library's calls from the program's.
#define K2K_CALLER __builtin_return_address(0)

// The functions that a program with device memory calls.

ssize_t checked_read(int descriptor, void* memory, size_t bytes) {
  if (ranges.near(memory)) [[unlikely]]
    return slow_read(descriptor, memory, bytes, K2K_CALLER);
  return real.read(descriptor, memory, bytes);
}

ssize_t checked_pread(int descriptor, void* memory, size_t bytes, off_t offset) {
  if (ranges.near(memory)) [[unlikely]]
    return slow_pread(descriptor, memory, bytes, offset, K2K_CALLER);
  return real.pread(descriptor, memory, bytes, offset);
}

ssize_t checked_write(int descriptor, const void* memory, size_t bytes) {
  if (ranges.near(memory)) [[unlikely]]
    return slow_write(descriptor, memory, bytes, K2K_CALLER);
  return real.write(descriptor, memory, bytes);
}

ssize_t checked_pwrite(int descriptor, const void* memory, size_t bytes, off_t offset) {
  if (ranges.near(memory)) [[unlikely]]
    return slow_pwrite(descriptor, memory, bytes, offset, K2K_CALLER);
  return real.pwrite(descriptor, memory, bytes, offset);
}

ssize_t checked_readv(int descriptor, const iovec* pieces, int count) {
  if (!ranges.empty()) [[unlikely]]
    return slow_readv(descriptor, pieces, count, K2K_CALLER);
  return real.readv(descriptor, pieces, count);
}

ssize_t checked_preadv(int descriptor, const iovec* pieces, int count, off_t offset) {
  if (!ranges.empty()) [[unlikely]]
    return slow_preadv(descriptor, pieces, count, offset, K2K_CALLER);
  return real.preadv(descriptor, pieces, count, offset);
}

ssize_t checked_preadv2(int descriptor, const iovec* pieces, int count, off_t offset, int flags) {
  if (!ranges.empty()) [[unlikely]]
    return slow_preadv2(descriptor, pieces, count, offset, flags, K2K_CALLER);
  return real.preadv2(descriptor, pieces, count, offset, flags);
}

ssize_t checked_writev(int descriptor, const iovec* pieces, int count) {
  if (!ranges.empty()) [[unlikely]]
    return slow_writev(descriptor, pieces, count, K2K_CALLER);
  return real.writev(descriptor, pieces, count);
}

ssize_t checked_pwritev(int descriptor, const iovec* pieces, int count, off_t offset) {
  if (!ranges.empty()) [[unlikely]]
    return slow_pwritev(descriptor, pieces, count, offset, K2K_CALLER);
  return real.pwritev(descriptor, pieces, count, offset);
}

ssize_t checked_pwritev2(int descriptor, const iovec* pieces, int count, off_t offset, int flags) {
  if (!ranges.empty()) [[unlikely]]
    return slow_pwritev2(descriptor, pieces, count, offset, flags, K2K_CALLER);
  return real.pwritev2(descriptor, pieces, count, offset, flags);
}

int checked_advise(int descriptor, off_t offset, off_t bytes, int advice) {
  if (!ranges.empty()) [[unlikely]]
    return slow_advise(descriptor, offset, bytes, advice, K2K_CALLER);
  return real.advise(descriptor, offset, bytes, advice);
}

}  // namespace

void k2k::shim::check_data_calls() {
  enter(entries.read, &checked_read);
  enter(entries.pread, &checked_pread);
  enter(entries.readv, &checked_readv);
  enter(entries.preadv, &checked_preadv);
  enter(entries.preadv2, &checked_preadv2);
  enter(entries.write, &checked_write);
  enter(entries.pwrite, &checked_pwrite);
  enter(entries.writev, &checked_writev);
  enter(entries.pwritev, &checked_pwritev);
  enter(entries.pwritev2, &checked_pwritev2);
  enter(entries.advise, &checked_advise);
}

extern "C" {

K2K_JUMPS(read, 0, ssize_t read(int, void*, size_t))
K2K_JUMPS(pread, 1, ssize_t pread(int, void*, size_t, off_t))
K2K_JUMPS(readv, 2, ssize_t readv(int, const iovec*, int))
K2K_JUMPS(preadv, 3, ssize_t preadv(int, const iovec*, int, off_t))
K2K_JUMPS(preadv2, 4, ssize_t preadv2(int, const iovec*, int, off_t, int))
K2K_JUMPS(write, 5, ssize_t write(int, const void*, size_t))
K2K_JUMPS(pwrite, 6, ssize_t pwrite(int, const void*, size_t, off_t))
K2K_JUMPS(writev, 7, ssize_t writev(int, const iovec*, int))
K2K_JUMPS(pwritev, 8, ssize_t pwritev(int, const iovec*, int, off_t))
K2K_JUMPS(pwritev2, 9, ssize_t pwritev2(int, const iovec*, int, off_t, int))
// libc gives the advice of a program that uses host memory only.
K2K_JUMPS(advise, 10, int posix_fadvise(int, off_t, off_t, int) noexcept)

// The functions that -D_FORTIFY_SOURCE calls; the last word is the buffer's size. They have as many
// instructions as libc's own, and reach __chk_fail() with the program's return address.
[[gnu::naked]] K2K_API ssize_t __read_chk(int, void*, size_t, size_t) {
  __asm__("cmp %rcx, %rdx; ja __chk_fail@PLT; jmp *k2k_io_entries+8*0(%rip)");
}
[[gnu::naked]] K2K_API ssize_t __pread_chk(int, void*, size_t, off_t, size_t) {
  __asm__("cmp %r8, %rdx; ja __chk_fail@PLT; jmp *k2k_io_entries+8*1(%rip)");
}

// off_t has 64 bits: these are the same functions.
#define K2K_SAME(name) K2K_API __attribute__((alias(#name)))
K2K_SAME(pread) ssize_t pread64(int, void*, size_t, off64_t);
K2K_SAME(pwrite) ssize_t pwrite64(int, const void*, size_t, off64_t);
K2K_SAME(preadv) ssize_t preadv64(int, const iovec*, int, off64_t);
K2K_SAME(pwritev) ssize_t pwritev64(int, const iovec*, int, off64_t);
K2K_SAME(preadv2) ssize_t preadv64v2(int, const iovec*, int, off64_t, int);
K2K_SAME(pwritev2) ssize_t pwritev64v2(int, const iovec*, int, off64_t, int);
K2K_SAME(posix_fadvise) int posix_fadvise64(int, off64_t, off64_t, int) noexcept;
K2K_SAME(__pread_chk) ssize_t __pread64_chk(int, void*, size_t, off64_t, size_t);

K2K_API int k2k_io_register(void* address, size_t bytes) {
  return k2k::shim::add_range(address, bytes, k2k_io_mapped);
}

K2K_API int k2k_io_register_kind(void* address, size_t bytes, int kind) {
  return k2k::shim::add_range(address, bytes, kind);
}

K2K_API int k2k_io_unregister(void* address) { return k2k::shim::remove_range(address); }

}  // extern "C"
