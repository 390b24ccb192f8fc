#include "apps/miniamr/direct.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace k2k::miniamr::libc {

namespace {

long answer_of(long value) { return value < 0 ? -errno : value; }

}  // namespace

long open(const char* path) { return answer_of(::open(path, O_RDONLY)); }
long pread(int file, void* buffer, std::size_t bytes) {
  return answer_of(::pread(file, buffer, bytes, 0));
}
long advise(void* address, std::size_t bytes) {
  return answer_of(::madvise(address, bytes, MADV_DONTNEED));
}
void close(int file) { ::close(file); }

}  // namespace k2k::miniamr::libc
