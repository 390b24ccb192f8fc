#pragma once
// The functions that we stand in front of.
//
// Until our constructor ran (others' may run before it, and read) each is the bare system call;
// afterwards it is the next definition behind ours, libc's as a rule, so that cancellation points
// and other interposers stay what they are.
//
// Threading: written once, by the constructor.

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdio>

namespace k2k::shim {

struct Real {
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
  long (*syscall)(long, long, long, long, long, long, long);
};

[[gnu::visibility("hidden")]] extern Real real;  // Hidden: one instruction less a call.

}  // namespace k2k::shim
