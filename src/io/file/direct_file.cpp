#include "io/file/direct_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "io/file/raw.hpp"

namespace k2k::io {

namespace {

// The flags of the program's descriptor that the twin must share.
constexpr int kept_flags(DirectFile::Access access) {
  const int always = O_NOATIME;
  return access == DirectFile::Access::write ? always : O_APPEND | O_SYNC | O_DSYNC | always;
}

Error failed(int descriptor, int code, const char* what) {
  return Error{code, fmt::format("direct transfers on descriptor {}: {} ({})", descriptor, what,
                                 std::strerror(code))};
}

Error not_opened(int descriptor, int code) {
  switch (code) {
    case EINVAL:
      return failed(descriptor, code, "its file system has none; read it through the page cache");
    case EACCES:
    case EPERM:
      return failed(descriptor, code,
                    "its file may not be opened again; give this user the right to");
    case EBUSY:
      return failed(
          descriptor, code,
          "a POSIX lock is held on its file, and opening it again could drop that; read it "
          "through the page cache, or take the lock after the first direct read");
    case EMFILE:
    case ENFILE:
      return failed(descriptor, code, "no descriptor is left; raise the limit: ulimit -n");
    case ENOENT:
      return failed(descriptor, code, "there is no /proc/self/fd; mount /proc");
    default:
      return failed(descriptor, code, "its file cannot be opened again");
  }
}

// The twin's open mode; nothing if the program could not do so itself.
std::optional<int> mode_of(int descriptor_flags, DirectFile::Access access) {
  if ((descriptor_flags & O_PATH) != 0) return {};
  const int mode = descriptor_flags & O_ACCMODE;
  if (access == DirectFile::Access::read) {
    if (mode == O_WRONLY) return {};
    return O_RDONLY;
  }
  if (mode == O_RDONLY) return {};
  if (access == DirectFile::Access::read_write) return mode;
  if (mode != O_WRONLY && mode != O_RDWR) return {};
  return O_WRONLY;
}

struct Facts {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool direct = true;
  Alignment alignment;
};

Result<Facts> facts_of(int descriptor) {
  struct statx seen{};
  constexpr unsigned wanted = STATX_TYPE | STATX_INO | STATX_DIOALIGN;
  const std::int64_t result = raw(SYS_statx, descriptor, "", AT_EMPTY_PATH, wanted, &seen);
  if (result < 0) {
    return failed(descriptor, static_cast<int>(-result), "no such descriptor is open");
  }
  if (!S_ISREG(seen.stx_mode) && !S_ISBLK(seen.stx_mode)) {
    return failed(descriptor, EINVAL, "only regular files and block devices have them");
  }
  Facts facts;
  facts.device = std::uint64_t{seen.stx_dev_major} << 32 | seen.stx_dev_minor;
  facts.inode = seen.stx_ino;
  if ((seen.stx_mask & STATX_DIOALIGN) != 0) {
    facts.direct = seen.stx_dio_mem_align != 0 && seen.stx_dio_offset_align != 0;
    facts.alignment = {seen.stx_dio_offset_align, seen.stx_dio_mem_align};
  }
  // tmpfs lets O_DIRECT pass since Linux 6.6, and copies.
  struct statfs system{};
  if (::fstatfs(descriptor, &system) == 0 && system.f_type == TMPFS_MAGIC) facts.direct = false;
  return facts;
}

std::int64_t open_again(int descriptor, int flags) {
  const std::string path = fmt::format("/proc/self/fd/{}", descriptor);
  std::int64_t opened = -EINTR;
  while (opened == -EINTR) opened = raw(SYS_openat, AT_FDCWD, path.c_str(), flags | O_CLOEXEC, 0);
  return opened;
}

// Does any process hold a POSIX lock on the file? The query uses an open description without locks,
// so that locks of this process are found too.
bool is_locked(int descriptor) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  return raw(SYS_fcntl, descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

struct Opened {
  int descriptor = -1;
  Alignment alignment;
};

// A second descriptor of the same inode, `extra` among its flags.
Result<Opened> open_twin(int descriptor, DirectFile::Access access, int extra) {
  const Result<Facts> facts = facts_of(descriptor);
  if (!facts) return facts.error();
  const std::int64_t flags = raw(SYS_fcntl, descriptor, F_GETFL);
  if (flags < 0) return failed(descriptor, EBADF, "no such descriptor is open");
  const std::optional<int> mode = mode_of(static_cast<int>(flags), access);
  if (!mode) {
    return failed(descriptor, EBADF,
                  access == DirectFile::Access::read
                      ? "it is not open for reading; open it O_RDONLY or O_RDWR"
                      : "it is not open for writing; open it O_RDWR");
  }
  if ((extra & O_DIRECT) != 0 && !facts.value().direct) return not_opened(descriptor, EINVAL);
  // Linux gives the lowest free number. Moved high, that one is closed, and with it go the
  // process's locks on the file.
  if (is_locked(descriptor)) return not_opened(descriptor, EBUSY);
  const std::int64_t opened =
      open_again(descriptor, *mode | (static_cast<int>(flags) & kept_flags(access)) | extra);
  if (opened < 0) return not_opened(descriptor, static_cast<int>(-opened));
  const int twin = moved_high(static_cast<int>(opened));
  if (twin < 0) return not_opened(descriptor, -twin);
  // Another thread may have closed the descriptor, and its number be another file's by now.
  const Result<Facts> again = facts_of(twin);
  if (!again || again.value().inode != facts.value().inode ||
      again.value().device != facts.value().device) {
    raw_close(twin);
    return failed(descriptor, EBADF, "it was closed meanwhile");
  }
  return Opened{twin, facts.value().alignment};
}

}  // namespace

Result<DirectFile> DirectFile::open(int descriptor, Access access) {
  const Result<Opened> opened = open_twin(descriptor, access, O_DIRECT);
  if (!opened) return opened.error();
  return DirectFile(opened.value().descriptor, opened.value().alignment);
}

DirectFile::DirectFile(int descriptor, const Alignment& alignment)
    : Twin(descriptor), alignment_(alignment) {}

Result<RandomFile> RandomFile::open(int descriptor) {
  const Result<Opened> opened = open_twin(descriptor, DirectFile::Access::read, 0);
  if (!opened) return opened.error();
  RandomFile twin(opened.value().descriptor);
  const std::int64_t advised = raw(SYS_fadvise64, twin.descriptor(), 0, 0, POSIX_FADV_RANDOM);
  if (advised < 0) return failed(descriptor, static_cast<int>(-advised), "no advice is taken");
  return twin;
}

Twin::Twin(Twin&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Twin& Twin::operator=(Twin&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Twin::~Twin() {
  if (descriptor_ >= 0) raw_close(descriptor_);
}

}  // namespace k2k::io
