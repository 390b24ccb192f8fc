#pragma once
// Twins of an open file: second descriptors of the same inode. A DirectFile bypasses the page cache
// (O_DIRECT) and knows the alignment of its transfers. A RandomFile reads through the page cache
// without read-ahead (POSIX_FADV_RANDOM).
//
// A twin is opened through /proc/self/fd, so that a renamed or replaced path does not matter, at
// a high number (twin_number_min or above, if the limit of descriptors allows), close-on-exec.
// Closing any descriptor of an inode drops every POSIX lock of the process on it (fcntl(2)): close
// a twin only when the program has no other descriptor of the inode.
//
// Threading: open() from any thread; one owner an object.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.hpp"
#include "io/file/raw.hpp"

namespace k2k::io {

inline constexpr int twin_number_min = high_number_min;

// The required alignment of offsets, lengths and addresses of direct transfers, in bytes: from
// statx(2) STATX_DIOALIGN (Linux 6.1), else 4096.
struct Alignment {
  std::uint32_t offset = 4096;
  std::uint32_t memory = 4096;
};

class Twin {
 public:
  Twin(Twin&& other) noexcept;
  Twin& operator=(Twin&& other) noexcept;
  ~Twin();

  [[nodiscard]] int descriptor() const { return descriptor_; }

 protected:
  explicit Twin(int descriptor) : descriptor_(descriptor) {}

 private:
  int descriptor_ = -1;
};

class DirectFile : public Twin {
 public:
  // read_write: all that the descriptor permits, which is writing and perhaps reading. The twin
  // also has the descriptor's current O_APPEND, O_SYNC, O_DSYNC and O_NOATIME. write: only writing,
  // at any offset, whatever the descriptor's mode; of these flags the twin has only O_NOATIME.
  enum class Access : std::uint8_t { read, read_write, write };

  // Errors: EBADF, no such descriptor, or not open for that. EINVAL: not a regular file or block
  // device, or its file system has no direct transfers (such as tmpfs). EACCES: /proc/self/fd/N may
  // not be opened again (a descriptor from another process, and the file's mode forbids it). EBUSY:
  // a process holds a POSIX lock on the file. EROFS, EMFILE, ENFILE, ENOENT (no /proc): as open(2).
  static Result<DirectFile> open(int descriptor, Access access);

  [[nodiscard]] const Alignment& alignment() const { return alignment_; }

 private:
  DirectFile(int descriptor, const Alignment& alignment);

  Alignment alignment_;
};

class RandomFile : public Twin {
 public:
  // For reading. Errors: as DirectFile::open(), except for a file system without direct transfers.
  static Result<RandomFile> open(int descriptor);

 private:
  using Twin::Twin;
};

}  // namespace k2k::io
