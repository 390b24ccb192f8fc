#pragma once
// The door to file data: whose memory is it, and which way does the call go? Kernels' requests, the
// C interface and libk2k_io.so all come by here.
//
//   the memory                             goes to
//   lies in a registered range             that range's reader (device_reader.hpp)
//   begins in one and ends beyond it       EFAULT, nothing is moved
//   is any other                           the reader of memory that the CPU addresses
//                                          (file_reader.hpp), or to Linux where there is none
//
//   pread, pwrite       at an offset; try_pread() for a thread that must not wait
//   read                at the descriptor's position: taken, read, returned (position.hpp)
//   write, call         one call of the kernel, if any of the memory is registered
//   advise, closing     to all readers
//
// What it knows was handed in: a reader made from FilesOptions, and the registered memory, which
// may be the process's, for an address means the same to all of a process.
//
// Threading: any thread.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "router/door/files_options.hpp"
#include "router/door/position.hpp"
#include "router/read/cached_read.hpp"
#include "router/read/file_reader.hpp"
#include "router/read/registered_memory.hpp"

namespace k2k::router {

// For shorter reads at the position, two lseek(2) cost more than the router can save.
inline constexpr std::uint64_t positioned_bytes_min = 64 << 10;

// The reader of memory that the CPU addresses. Null: the options want none. Errors: ENOMEM, and
// EINVAL for a number out of its range.
Result<std::shared_ptr<FileReader>> make_reader(const FilesOptions& options);

class Files {
 public:
  // Without a reader, Linux reads and writes memory that the CPU addresses. `registered` outlives
  // it.
  explicit Files(std::shared_ptr<FileReader> reader = {},
                 RegisteredMemory& registered = RegisteredMemory::of_process())
      : reader_(std::move(reader)), registered_(registered), before_(registered.stats()) {}
  // Errors: make_reader()'s.
  static Result<std::shared_ptr<Files>> create(const FilesOptions& options,
                                               RegisteredMemory& registered);
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  // pread(2), pwrite(2): the count, or a negative errno.
  ssize_t pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset);
  ssize_t pwrite(int descriptor, const void* memory, std::size_t bytes, std::int64_t offset);
  // For a thread that must not wait. -EAGAIN: pread() of another thread's answers it. Of registered
  // memory the answer, and the thread is kept.
  ssize_t try_pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
    if (registered_.near(memory)) [[unlikely]] {
      const auto answer = registered_.pread(descriptor, memory, bytes, offset);
      if (answer) return *answer;
    }
    if (reader_) return reader_->try_pread(descriptor, memory, bytes, offset);
    return try_kernels(descriptor, memory, bytes, offset);
  }

  // read(2) of a regular file by the readers: the count, or a negative errno; -EAGAIN without
  // patience: ask again with it. Nothing where the kernel's own read does as well or knows better:
  // positioned_bytes_min are not wanted or not left in the file, no regular file, a descriptor that
  // may not be read or is O_DIRECT.
  std::optional<ssize_t> read(int descriptor, void* memory, std::size_t bytes, Patience patience);
  // One piece of registered memory at the position, by one call of the kernel with RWF_ flags.
  // Nothing: the memory is not registered, the call is the kernel's.
  std::optional<ssize_t> read_once(int descriptor, void* memory, std::size_t bytes, int flags);
  std::optional<ssize_t> write(int descriptor, const void* memory, std::size_t bytes, int flags);
  // The same of a vector.
  std::optional<ssize_t> call(const VectorCall& call) { return registered_.call(call); }

  // posix_fadvise(2): 0 or a positive errno.
  int advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice);
  // As FileReader's: the descriptor is about to be closed; the inode's last one is being closed;
  // the host's own use of bytes that were read ahead; the child of fork().
  void closing(int descriptor);
  void forget(int descriptor, std::uint64_t device, std::uint64_t inode);
  void used_by_host(int descriptor, std::int64_t offset, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t pages_held() const { return reader_ ? reader_->pages_held() : 0; }
  void after_fork_child();

  // May a call of the kind above be made with this memory, which the CPU does not address?
  [[nodiscard]] bool takes(const void* memory, std::size_t bytes) const {
    return registered_.holds(memory, bytes);
  }
  [[nodiscard]] const Ranges& registered() const { return registered_.ranges(); }
  [[nodiscard]] bool has_registered() const { return registered_.any(); }
  // Is the descriptor's next read a plain one that memory answers (cached_read.hpp), whatever
  // memory it goes into?
  [[nodiscard]] bool reads_plainly(int descriptor, std::size_t bytes) const {
    return cached_.is_plain(descriptor, bytes) && !registered_.any();
  }
  // A read of this thread took longer than memory does.
  void note_waited() { cached_.note_waited(); }

  // Since it was made; of registered memory, whoever reads into it.
  [[nodiscard]] ReaderStats stats() const;

 private:
  ssize_t try_kernels(int descriptor, void* memory, std::size_t bytes, std::int64_t offset);

  const std::shared_ptr<FileReader> reader_;
  RegisteredMemory& registered_;
  CachedReads& cached_ = CachedReads::of_process();
  const ReaderStats before_;
};

}  // namespace k2k::router
