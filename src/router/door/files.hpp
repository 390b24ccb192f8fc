#pragma once
// The door to file data: selects the reader of a call by the memory. Requests of kernels, the C
// interface and libk2k_io.so all use it.
//
//   the memory                             the call is served by
//   lies in a registered range             the reader of that range (device_port.hpp)
//   begins in one and ends beyond it       EFAULT, no byte is moved
//   is other memory                        the reader of memory that the CPU addresses
//                                          (host_port.hpp), or Linux if there is no reader
//
//   pread, pwrite       at an offset; try_pread() for a thread that must not wait
//   read                at the descriptor's position: taken, read, returned (position.hpp)
//   call                one call of Linux, if any of the memory is registered
//   advise, closing     to all readers
//
// Its state is handed in: a reader made from FilesOptions, and the registered memory. That may be
// the list of the process, because an address means the same to every part of a process.
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

class Files {
 public:
  // Without a reader, Linux reads and writes memory that the CPU addresses. `registered` outlives
  // it.
  explicit Files(std::shared_ptr<FileReader> reader = {},
                 RegisteredMemory& registered = RegisteredMemory::of_process())
      : reader_(std::move(reader)), registered_(registered), before_(registered.stats()) {}
  // Errors: make_reader()'s (readers.hpp).
  static Result<std::shared_ptr<Files>> create(const FilesOptions& options,
                                               RegisteredMemory& registered);
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  // pread(2), pwrite(2): the count, or a negative errno.
  ssize_t pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset);
  ssize_t pwrite(int descriptor, const void* memory, std::size_t bytes, std::int64_t offset);
  // For a thread that must not wait. -EAGAIN: another thread must call pread().
  ssize_t try_pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
    if (registered_.near(memory)) [[unlikely]] {
      const auto answer = registered_.try_pread(descriptor, memory, bytes, offset);
      if (answer) return *answer;
    }
    if (reader_) return reader_->try_pread(descriptor, memory, bytes, offset);
    return try_kernels(descriptor, memory, bytes, offset);
  }

  // As FileReader's, of a read that try_pread() left; false for registered memory.
  [[nodiscard]] bool is_plain(int descriptor, const void* memory, std::size_t bytes,
                              std::int64_t offset) const {
    if (registered_.near(memory)) return false;
    return !reader_ || reader_->is_plain(descriptor, bytes, offset);
  }
  void note_plain(int descriptor, std::size_t bytes, std::int64_t offset, ssize_t count,
                  std::uint64_t begin) {
    if (reader_) reader_->note_plain(descriptor, bytes, offset, count, begin);
  }

  // read(2) of a regular file by the readers: the count, or a negative errno. -EAGAIN without
  // patience: call again with patience. No value: Linux' own read is as fast, or its answer is
  // needed. That holds if positioned_bytes_min are not requested or not left in the file, for other
  // kinds of files, and for a descriptor that is O_DIRECT or not open for reading.
  std::optional<ssize_t> read(int descriptor, void* memory, std::size_t bytes, Patience patience);
  // One call of Linux, if a piece lies in registered memory. No value: none does, and the caller
  // makes the call.
  std::optional<ssize_t> call(const VectorCall& call) { return registered_.call(call); }

  // posix_fadvise(2): 0 or a positive errno.
  int advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice);
  // As FileReader's: a descriptor is about to be closed; the last descriptor of an inode is being
  // closed; the host uses bytes that were read ahead; the child of fork().
  void closing(int descriptor);
  void forget(int descriptor, std::uint64_t device, std::uint64_t inode);
  void used_by_host(int descriptor, std::int64_t offset, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t pages_held() const;
  void after_fork_child();

  // May one of the calls above use this memory, which the CPU does not address?
  [[nodiscard]] bool takes(const void* memory, std::size_t bytes) const {
    return registered_.holds(memory, bytes);
  }
  [[nodiscard]] const Ranges& registered() const { return registered_.ranges(); }
  [[nodiscard]] bool has_registered() const { return registered_.any(); }
  // Is the descriptor's next read a plain read of cached data (cached_read.hpp), for every
  // destination?
  [[nodiscard]] bool reads_plainly(int descriptor, std::size_t bytes) const {
    return cached_.is_plain(descriptor, bytes) && !registered_.any();
  }
  // A read of this thread took longer than cached data takes.
  void note_waited() { cached_.note_waited(); }

  // Since this object was made; for registered memory, the reads of all callers.
  [[nodiscard]] ReaderStats stats() const;

 private:
  // Calls tell(FileReader&) for every reader of registered memory, then for the other.
  template <class Tell>
  void each_reader(Tell tell) const {
    registered_.each_reader(tell);
    if (reader_) tell(*reader_);
  }
  ssize_t try_kernels(int descriptor, void* memory, std::size_t bytes, std::int64_t offset);

  const std::shared_ptr<FileReader> reader_;
  RegisteredMemory& registered_;
  CachedReads& cached_ = CachedReads::of_process();
  const ReaderStats before_;
};

}  // namespace k2k::router
