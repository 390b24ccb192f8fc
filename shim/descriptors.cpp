#include "shim/descriptors.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "shim/counts.hpp"
#include "shim/open_numbers.hpp"
#include "shim/real.hpp"
#include "shim/router_library.hpp"

namespace k2k::shim {

constinit Tracked tracked;

namespace {

pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
constinit std::atomic<pid_t> process{0};  // The process that owns the descriptors.

class Lock {
 public:
  Lock() { pthread_mutex_lock(&changing); }
  ~Lock() { pthread_mutex_unlock(&changing); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Inside inside_;  // First: a signal handler must not wait for the lock.
};

class KeptErrno {
 public:
  ~KeptErrno() { errno = error_; }

 private:
  int error_ = errno;
};

// Regular files without stored data: each read makes its data, and a second read of the same place
// may find other data.
bool is_made_up(const struct statfs& system) {
  switch (static_cast<unsigned long>(system.f_type)) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case SECURITYFS_MAGIC:
    case SELINUX_MAGIC:
    case SMACK_MAGIC:
    case BPF_FS_MAGIC:
    case EFIVARFS_MAGIC:
    case PSTOREFS_MAGIC:
      return true;
    default:
      return false;
  }
}

std::uint32_t routing_for(int descriptor, mode_t mode) {
  if (!S_ISREG(mode) && !S_ISBLK(mode)) return routing_known;
  struct statfs system{};
  if (fstatfs(descriptor, &system) != 0 || is_made_up(system)) return routing_known;
  const int flags = real.fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & (O_PATH | O_DIRECT)) != 0) return routing_known;
  switch (flags & O_ACCMODE) {
    case O_RDONLY:
      return routing_known | routes_reads;
    case O_WRONLY:
      return routing_known | routes_writes;
    case O_RDWR:
      return routing_known | routes_reads | routes_writes;
    default:
      return routing_known;  // 3: neither, for ioctl(2) alone.
  }
}

// By Linux' own copy of the attributes: a hanging file system must not delay another's close.
bool same_file(int descriptor, const File& file) {
  struct statx seen{};
  if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &seen) != 0) {
    return false;
  }
  return File{makedev(seen.stx_dev_major, seen.stx_dev_minor), seen.stx_ino} == file;
}

// A descriptor of the program, outside of first..last, for this file; -1 if there is none.
int another_of(const File& file, int first, int last) {
  int found = -1;
  any_open_number(0, INT32_MAX, [&](int number) {
    if ((number >= first && number <= last) || !same_file(number, file)) return false;
    if (is_of_router_library(number)) return false;
    found = number;
    return true;
  });
  return found;
}

// The tracked descriptor is about to be closed, with all of first..last. Returns true, with its
// file, if the program has no other descriptor of that file.
bool drop_last_of_file(int descriptor, int first, int last, File* file) {
  const Lock lock;
  if (!tracked.tracked(descriptor)) return false;  // Another thread closed it.
  *file = tracked.file_of(descriptor);
  tracked.drop(descriptor);
  const int other = another_of(*file, first, last);
  if (other < 0) return true;
  if (Tracked::fits(other) && !tracked.tracked(other)) tracked.track(other, *file, routing_unknown);
  count(counts.kept);
  return false;
}

}  // namespace

std::uint32_t look_at(int descriptor) {
  if (!Tracked::fits(descriptor)) return routing_known;
  if (const std::uint32_t routing = tracked.routing_of(descriptor)) return routing;
  const KeptErrno kept;
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return routing_unknown;
  const std::uint32_t routing = routing_for(descriptor, status.st_mode);
  // Without routed reads or writes there is no twin that a close would end.
  if ((routing & (routes_reads | routes_writes)) == 0) return routing;
  const Lock lock;
  process.store(getpid(), std::memory_order_relaxed);
  tracked.track(descriptor, {status.st_dev, status.st_ino}, routing);
  return routing;
}

bool is_of_router_library(int descriptor) {
  const k2k_io_table* const router = router_library_if_loaded();
  return router != nullptr && router->owns(descriptor) != 0;
}

void before_close(int first, int last) {
  int at = tracked.next(first, last);
  if (at < 0 || getpid() != process.load(std::memory_order_relaxed)) return;
  if (Inside::now()) {
    // A signal handler during a call served here: the next close of the file closes the twin.
    for (; at >= 0; at = tracked.next(at + 1, last)) tracked.drop(at);
    return;
  }
  const KeptErrno kept;
  const Inside inside;
  for (; at >= 0; at = tracked.next(at + 1, last)) {
    File file;
    if (!drop_last_of_file(at, first, last, &file)) continue;
    // Without the lock, because a close may take long and must not delay the close of other files.
    if (const k2k_io_table* const router = router_library_if_loaded())
      router->forget(at, file.device, file.inode);
    count(counts.forgotten);
  }
}

void descriptors_before_fork() { pthread_mutex_lock(&changing); }

void descriptors_after_fork(bool child) {
  if (child) process.store(getpid(), std::memory_order_relaxed);
  pthread_mutex_unlock(&changing);
}

}  // namespace k2k::shim
