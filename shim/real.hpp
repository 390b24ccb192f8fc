#pragma once
// The functions that this library defines in front of libc's, and the words that lead a program's
// calls.
//
// The functions of libk2k_io.so with libc's names are one jump each, to the function in `entries`:
//
//   at first             finds the next definition behind ours (libc's as a rule, so that points
//                        of cancellation and other interposers stay what they are), enters it, and
//                        calls it
//   then                 that definition: a program without device memory pays the jump
//   from the first range the function that checks buffer and descriptor (check_calls())
//
// `real` always holds the definitions behind this library.
//
// Threading: any thread, signal handlers included. The words are written by atomic stores and read
// by plain loads, which are one instruction with the jump; on x86-64 an aligned word is read whole,
// and whichever value is seen leads to a function that does the call.

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdio>

namespace k2k::shim {

struct Functions {
  ssize_t (*read)(int, void*, std::size_t);
  ssize_t (*pread)(int, void*, std::size_t, off_t);
  ssize_t (*readv)(int, const iovec*, int);
  ssize_t (*preadv)(int, const iovec*, int, off_t);
  ssize_t (*preadv2)(int, const iovec*, int, off_t, int);
  ssize_t (*write)(int, const void*, std::size_t);
  ssize_t (*pwrite)(int, const void*, std::size_t, off_t);
  ssize_t (*writev)(int, const iovec*, int);
  ssize_t (*pwritev)(int, const iovec*, int, off_t);
  ssize_t (*pwritev2)(int, const iovec*, int, off_t, int);
  int (*advise)(int, off_t, off_t, int);
  int (*close)(int);
  int (*close_range)(unsigned, unsigned, int);
  void (*closefrom)(int);
  int (*dup2)(int, int);
  int (*dup3)(int, int, int);
  int (*fcntl)(int, int, ...);
  int (*fclose)(std::FILE*);
};

// Hidden: saves one instruction per call.
[[gnu::visibility("hidden")]] extern Functions real;
[[gnu::visibility("hidden")]] extern Functions entries __asm__("k2k_io_entries");
// For syscall(2), whose calls are examined from the start: interpose_syscall.cpp.
using Syscall = long (*)(long, long, long, long, long, long, long);
[[gnu::visibility("hidden")]] extern Syscall real_syscall;

template <class Function>
void enter(Function& word, Function function) {
  std::atomic_ref<Function>(word).store(function, std::memory_order_release);
}

// From now on calls are examined. Called before the first range is added, by one thread at a time.
void check_calls();
// The parts of check_calls(), one per file.
void check_data_calls();
void check_descriptor_calls();

}  // namespace k2k::shim

// Defines a function that is one jump: `number` is the field's, in words.
#define K2K_JUMPS(field, number, ...)                                   \
  static_assert(offsetof(k2k::shim::Functions, field) == 8 * (number)); \
  [[gnu::naked]] K2K_API __VA_ARGS__ { __asm__("jmp *k2k_io_entries+8*" #number "(%rip)"); }
