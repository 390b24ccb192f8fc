#pragma once
// The calls of group_count.hpp by libc, on the thread that runs the kernel: what remains of the
// program's time without K2K. The cpu backend alone.
//
// Item 0 makes the call and all items get its answer, with the barriers that K2K's calls have.
//
// Threading: device code on the host's cores; blocking(), in direct.cpp, is a plain function.

#include "apps/wordcount/group_count.hpp"

namespace k2k::wordcount {

// open(2), pread(2) and close(2): as Linux answers.
namespace libc {
long open(const char* path);
long pread(int fd, void* buffer, std::size_t bytes, std::int64_t offset);
void close(int fd);
}  // namespace libc

struct Direct {
  // A word for each of two calls in turn: an item may read an answer while item 0 makes the next
  // call.
  struct Answers {
    long values[2];
    std::uint32_t turn;
  };

  template <class Call>
  static long once(const Call& call) {
    K2K_LOCAL(Answers, answers);
    const std::uint32_t turn = answers.turn % 2;
    k2k::barrier();  // Every item has read the turn.
    if (k2k::item_rank() == 0) {
      answers.values[turn] = call();
      ++answers.turn;
    }
    k2k::barrier();
    return answers.values[turn];
  }
  static long open(const char* path) {
    return once([=] { return libc::open(path); });
  }
  static long pread(int fd, void* buffer, std::size_t bytes, std::int64_t offset) {
    return once([=] { return libc::pread(fd, buffer, bytes, offset); });
  }
  static void close(int fd) {
    k2k::barrier();
    if (k2k::item_rank() == 0) libc::close(fd);
  }
};

}  // namespace k2k::wordcount
