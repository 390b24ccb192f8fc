#include "services/kernel_work.hpp"

#include <fcntl.h>
#include <sys/uio.h>

#include "services/raw.hpp"

namespace k2k::services {

namespace {

bool is_synchronous(std::uint64_t descriptor) {
  const std::int64_t flags = raw(SYS_fcntl, static_cast<int>(descriptor), F_GETFL);
  return flags >= 0 && (flags & O_DSYNC) != 0;  // A part of O_SYNC.
}

}  // namespace

bool has_kernel_threads_work(const Request& request) {
  constexpr std::uint64_t synchronous = RWF_DSYNC | RWF_SYNC;
  switch (request.number) {
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync:
    case SYS_syncfs:
    case SYS_sync_file_range:
    case SYS_msync:
    case SYS_fallocate:
    case SYS_truncate:
    case SYS_ftruncate:
    case SYS_copy_file_range:
    case SYS_unlink:
    case SYS_unlinkat:
      return true;
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
      return is_synchronous(request.arguments[0]);
    case SYS_pwritev2:
      return (request.arguments[5] & synchronous) != 0 || is_synchronous(request.arguments[0]);
    case SYS_sendfile:
      return is_synchronous(request.arguments[0]);
    case SYS_splice:
      return is_synchronous(request.arguments[2]);
    default:
      return false;
  }
}

}  // namespace k2k::services
