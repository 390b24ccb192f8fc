#pragma once
// The open descriptors of this process, from /proc/thread-self/fd. If that cannot be opened (no
// /proc, a full table), a probe of each number up to probed_max finds them.
//
// Threading: any thread; the result may miss or contain descriptors that other threads open or
// close meanwhile. No allocation.

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace k2k::shim {

inline constexpr int probed_max = 65536;

// A folder of numbers, read piece by piece. Takes a descriptor number while it lives.
class NumberFolder {
 public:
  NumberFolder() = default;
  explicit NumberFolder(const char* path)
      : folder_(static_cast<int>(
            syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))) {}
  ~NumberFolder() {
    if (folder_ >= 0) syscall(SYS_close, folder_);
  }
  NumberFolder(const NumberFolder&) = delete;
  NumberFolder& operator=(const NumberFolder&) = delete;

  [[nodiscard]] bool open() const { return folder_ >= 0; }
  // The next number, without the folder's own; -1 at the end.
  int next();

 private:
  struct Entry {  // linux_dirent64
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t bytes;
    std::uint8_t kind;
    char name[];
  };

  int folder_ = -1;
  long filled_ = 0;
  long at_ = 0;
  alignas(8) char piece_[2048];
};

// Calls visit(number) for the open descriptors of first..last, in no order, until it returns true.
// Did it return true?
template <class Visit>
bool any_open_number(int first, int last, Visit&& visit) {
  NumberFolder folder("/proc/thread-self/fd");
  if (folder.open()) {
    for (int number = folder.next(); number >= 0; number = folder.next()) {
      if (number >= first && number <= last && visit(number)) return true;
    }
    return false;
  }
  for (int number = first; number <= last && number < probed_max; ++number) {
    if (syscall(SYS_fcntl, number, F_GETFD) >= 0 && visit(number)) return true;
  }
  return false;
}

}  // namespace k2k::shim
