#pragma once
// The calls of step.hpp by libc, on the thread that runs the kernel. The cpu backend alone. The
// advice is served at once: a thread that makes its own call has nobody to leave it to.
//
// Threading: device code on the host's cores; libc, in direct.cpp, has plain functions.

#include "apps/miniamr/step.hpp"

namespace k2k::miniamr {

// open(2) to read, pread(2) at 0, madvise(2) with MADV_DONTNEED and close(2): as Linux answers.
namespace libc {
long open(const char* path);
long pread(int file, void* buffer, std::size_t bytes);
long advise(void* address, std::size_t bytes);
void close(int file);
}  // namespace libc

struct Direct {
  struct Ticket {
    long answer = 0;
    [[nodiscard]] long redeem() const { return answer; }
  };

  static long open(const char* path) { return libc::open(path); }
  static long pread(int file, void* buffer, std::size_t bytes) {
    return libc::pread(file, buffer, bytes);
  }
  static Ticket advise(void* address, std::size_t bytes) { return {libc::advise(address, bytes)}; }
  static void close(int file) { libc::close(file); }
};

}  // namespace k2k::miniamr
