#pragma once
// A read at a descriptor's own position: it claims its range before it reads.
//
//   take     the position moves on by the bytes that are wanted: another call that uses the
//            position uses other bytes
//   read     at the place that was taken
//   return   the position moves back over the bytes that were not read
//
// Threads of this process take and return one after the other. One effect is visible in another
// process that shares the description: while a read falls short, the position is too far ahead.
//
// libk2k_io.so is linked with this file, and with libc alone.
//
// Threading: any thread. In the child of fork() positions_after_fork_child() comes first.

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace k2k::router {

// May the thread wait?
enum class Patience : std::uint8_t { none, endless };

class Position {
 public:
  // Of the file with these numbers (st_dev, st_ino). Not held without patience: another thread has
  // the file's, and may be waiting for a disk.
  Position(int descriptor, std::uint64_t device, std::uint64_t inode, Patience patience);
  ~Position() {
    if (lock_ != nullptr) ::pthread_mutex_unlock(lock_);
  }
  Position(const Position&) = delete;
  Position& operator=(const Position&) = delete;

  [[nodiscard]] bool held() const { return lock_ != nullptr; }
  // Where it stands; negative: there is none.
  [[nodiscard]] off_t now() const { return ::lseek(descriptor_, 0, SEEK_CUR); }

  // Has `read`, of an offset, read `bytes` at most; its count or a negative errno is in `count`.
  // False: there is no such position, and nothing was read.
  template <class Read>
  bool read(std::size_t bytes, const Read& read, ssize_t& count) const {
    const auto room = static_cast<off_t>(bytes);
    const off_t end = ::lseek(descriptor_, room, SEEK_CUR);
    if (end < room) return false;  // Also of a device that says nothing but 0.
    count = read(end - room);
    const off_t used = count > 0 ? count : 0;
    if (used < room) ::lseek(descriptor_, used - room, SEEK_CUR);
    return true;
  }

 private:
  int descriptor_;
  pthread_mutex_t* lock_;
};

// The parent's threads, which held positions, are not here.
void positions_after_fork_child();

}  // namespace k2k::router
