#pragma once
// The calls of group_count.hpp by libc, on the thread that runs the kernel: what remains of the
// program's time without K2K. The cpu backend alone.
//
// Threading: device code on the host's cores; libc, in direct.cpp, has plain functions.

#include "apps/common/answered_once.hpp"
#include "apps/wordcount/group_count.hpp"

namespace k2k::wordcount {

// open(2), pread(2) and close(2): as Linux answers.
namespace libc {
long open(const char* path);
long pread(int fd, void* buffer, std::size_t bytes, std::int64_t offset);
void close(int fd);
}  // namespace libc

struct Direct {
  static long open(const char* path) {
    return apps::answered_once([=] { return libc::open(path); });
  }
  static long pread(int fd, void* buffer, std::size_t bytes, std::int64_t offset) {
    return apps::answered_once([=] { return libc::pread(fd, buffer, bytes, offset); });
  }
  static void close(int fd) {
    k2k::barrier();
    if (k2k::item_rank() == 0) libc::close(fd);
  }
};

}  // namespace k2k::wordcount
