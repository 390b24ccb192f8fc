#include "runtime/descriptor_table.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace k2k {

void make_room_for_descriptors(std::uint32_t count) {
  if (__libc_single_threaded == 0 || count == 0) return;
  const int before = errno;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 0) {
    const int last = static_cast<int>(std::min<rlim_t>(count, limit.rlim_cur) - 1);
    const int any = ::open("/", O_PATH | O_CLOEXEC);
    const int highest = any < 0 ? -1 : ::fcntl(any, F_DUPFD_CLOEXEC, last);
    if (highest >= 0) ::close(highest);  // The table keeps its size.
    if (any >= 0) ::close(any);
  }
  errno = before;
}

}  // namespace k2k
