#include "shim/real.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <type_traits>

extern "C" int _IO_fclose(std::FILE* file);  // libc's, by the name that nobody stands in front of.

namespace k2k::shim {
namespace {

// libc's syscall(2) as long as that is not known: ours stands in front of it.
#if !defined(__x86_64__)
#error "libk2k_io.so makes system calls by itself, here on x86-64 alone"
#endif
long early_syscall(long number, long a, long b, long c, long d, long e, long f) {
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = f;
  long answer = number;
  __asm__ volatile("syscall"
                   : "+a"(answer)
                   : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  if (answer < 0 && answer >= -4095) return errno = static_cast<int>(-answer), -1;
  return answer;
}

// Numbers and pointers as words.
template <class Word>
long word(Word given) {
  if constexpr (std::is_pointer_v<Word>) {
    return reinterpret_cast<long>(given);
  } else {
    return static_cast<long>(given);
  }
}
template <class... Words>
long early_call(long number, Words... words) {
  const long all[6] = {word(words)...};
  return early_syscall(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}

// The kernel takes an offset as two words on 32-bit machines; there the whole goes into the first.
static_assert(sizeof(long) == 8 && sizeof(off_t) == 8, "K2K runs on 64-bit machines");

ssize_t early_read(int descriptor, void* memory, std::size_t bytes) {
  return early_call(SYS_read, descriptor, memory, bytes);
}
ssize_t early_pread(int descriptor, void* memory, std::size_t bytes, off_t offset) {
  return early_call(SYS_pread64, descriptor, memory, bytes, offset);
}
ssize_t early_readv(int descriptor, const iovec* pieces, int count) {
  return early_call(SYS_readv, descriptor, pieces, count);
}
ssize_t early_preadv(int descriptor, const iovec* pieces, int count, off_t offset) {
  return early_call(SYS_preadv, descriptor, pieces, count, offset, 0);
}
ssize_t early_preadv2(int descriptor, const iovec* pieces, int count, off_t offset, int flags) {
  return early_call(SYS_preadv2, descriptor, pieces, count, offset, 0, flags);
}
ssize_t early_write(int descriptor, const void* memory, std::size_t bytes) {
  return early_call(SYS_write, descriptor, memory, bytes);
}
ssize_t early_pwrite(int descriptor, const void* memory, std::size_t bytes, off_t offset) {
  return early_call(SYS_pwrite64, descriptor, memory, bytes, offset);
}
ssize_t early_writev(int descriptor, const iovec* pieces, int count) {
  return early_call(SYS_writev, descriptor, pieces, count);
}
ssize_t early_pwritev(int descriptor, const iovec* pieces, int count, off_t offset) {
  return early_call(SYS_pwritev, descriptor, pieces, count, offset, 0);
}
ssize_t early_pwritev2(int descriptor, const iovec* pieces, int count, off_t offset, int flags) {
  return early_call(SYS_pwritev2, descriptor, pieces, count, offset, 0, flags);
}
int early_advise(int descriptor, off_t offset, off_t bytes, int advice) {
  const int before = errno;
  const bool failed = early_call(SYS_fadvise64, descriptor, offset, bytes, advice) != 0;
  const int error = failed ? errno : 0;
  errno = before;
  return error;
}
int early_close(int descriptor) { return static_cast<int>(early_call(SYS_close, descriptor)); }
int early_close_range(unsigned first, unsigned last, int flags) {
  return static_cast<int>(early_call(SYS_close_range, first, last, flags));
}
void early_closefrom(int first) { early_call(SYS_close_range, first, ~0u, 0); }
int early_dup3(int from, int to, int flags) {
  return static_cast<int>(early_call(SYS_dup3, from, to, flags));
}
int early_dup2(int from, int to) { return static_cast<int>(early_call(SYS_dup2, from, to)); }
int early_fcntl(int descriptor, int command, ...) {
  std::va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  return static_cast<int>(early_call(SYS_fcntl, descriptor, command, argument));
}

template <class Function>
void find(Function& function, const char* name) {
  if (void* const found = dlsym(RTLD_NEXT, name)) function = reinterpret_cast<Function>(found);
}

// The first one of all: others' constructors read, too.
[[gnu::constructor(101)]] void find_all() {
  find(real.read, "read");
  find(real.pread, "pread64");
  find(real.readv, "readv");
  find(real.preadv, "preadv64");
  find(real.preadv2, "preadv64v2");
  find(real.write, "write");
  find(real.pwrite, "pwrite64");
  find(real.writev, "writev");
  find(real.pwritev, "pwritev64");
  find(real.pwritev2, "pwritev64v2");
  find(real.advise, "posix_fadvise64");
  find(real.close, "close");
  find(real.close_range, "close_range");
  find(real.closefrom, "closefrom");
  find(real.dup2, "dup2");
  find(real.dup3, "dup3");
  find(real.fcntl, "fcntl64");
  find(real.fclose, "fclose");
  find(real.syscall, "syscall");
}

}  // namespace

constinit Real real = {
    .read = early_read,
    .pread = early_pread,
    .readv = early_readv,
    .preadv = early_preadv,
    .preadv2 = early_preadv2,
    .write = early_write,
    .pwrite = early_pwrite,
    .writev = early_writev,
    .pwritev = early_pwritev,
    .pwritev2 = early_pwritev2,
    .advise = early_advise,
    .close = early_close,
    .close_range = early_close_range,
    .closefrom = early_closefrom,
    .dup2 = early_dup2,
    .dup3 = early_dup3,
    .fcntl = early_fcntl,
    .fclose = _IO_fclose,
    .syscall = early_syscall,
};

}  // namespace k2k::shim
