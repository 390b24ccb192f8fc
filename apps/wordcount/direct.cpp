#include "apps/wordcount/direct.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace k2k::wordcount::libc {

long open(const char* path) {
  const int fd = ::open(path, open_flags);
  return fd < 0 ? -errno : fd;
}
long pread(int fd, void* buffer, std::size_t bytes, std::int64_t offset) {
  const ssize_t got = ::pread(fd, buffer, bytes, offset);
  return got < 0 ? -errno : got;
}
void close(int fd) { ::close(fd); }

}  // namespace k2k::wordcount::libc
