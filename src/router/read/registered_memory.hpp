#pragma once
// Memory of this process that neither the CPU nor Linux can address, a GPU's: its ranges, and the
// reader (file_reader.hpp) that serves calls with each.
//
//   near(memory)          one comparison where nothing is registered, and for memory outside
//   pread, pwrite, call   nothing: the memory is not the device's, the call is Linux'
//
//   a buffer that                                   is
//   begins outside, or has no bytes                 Linux'
//   lies in one range as a whole                    its reader's
//   begins in a range and ends beyond it            EFAULT, and nothing was moved
//   is of a vector, with one of another reader      EFAULT likewise
//
// A range is the device's until remove() returns, which waits for the calls that use it. After
// fork() the child has no range: its calls with such memory are Linux', which says EFAULT.
//
// Threading: any thread, not from signal handlers.

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/ranges.hpp"
#include "base/result.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {

// One preadv2(2) or pwritev2(2).
struct VectorCall {
  int descriptor = -1;
  std::span<const iovec> pieces;
  bool write = false;
  std::optional<std::int64_t> offset{};  // Nothing: the descriptor's own position.
  int flags = 0;                         // RWF_
};

class RegisteredMemory {
 public:
  static constexpr std::size_t ranges_max = Ranges::ranges_max;

  RegisteredMemory() = default;
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;
  // The one that the façade registers with, for an address means the same to all of a process.
  // Never destroyed; forks are seen.
  static RegisteredMemory& of_process();

  // The reader is kept until its last range is removed. EINVAL: null, no bytes, or an end beyond
  // the address space. EEXIST: it overlaps a range, or one whose remove() still waits. ENOSPC:
  // ranges_max are there.
  Status add(void* address, std::size_t bytes, std::shared_ptr<FileReader> reader);
  // A reader with ranges that another table has, libk2k_io.so's: it receives the calls that all
  // readers receive.
  void keep(std::shared_ptr<FileReader> reader);
  // Waits, without a limit, for the calls that use the range: one with a pipe ends when that does.
  // With its reader's last range go the twins of the files that it read. ENOENT: no range begins
  // there.
  Status remove(void* address);

  // For devices, which pass registered memory to the host by its address.
  [[nodiscard]] const Ranges& ranges() const { return ranges_; }
  [[nodiscard]] bool any() const { return !ranges_.empty(); }
  [[nodiscard]] bool near(const void* memory) const { return ranges_.near(memory); }
  // Does the whole buffer lie in one range?
  [[nodiscard]] bool holds(const void* memory, std::size_t bytes) const {
    return near(memory) && ranges_.holds(memory, bytes);
  }
  // Does it begin in a range and end beyond it?
  [[nodiscard]] bool cuts(const void* memory, std::size_t bytes) const {
    return near(memory) && ranges_.holds(memory, 1) && !ranges_.holds(memory, bytes);
  }

  // The count or a negative errno. Nothing: the call is Linux'.
  std::optional<ssize_t> pread(int descriptor, void* memory, std::size_t bytes,
                               std::int64_t offset) {
    if (!near(memory)) [[likely]]
      return {};
    return read_near(descriptor, memory, bytes, offset);
  }
  // -EAGAIN as well: the reader's (FileReader::try_pread()).
  std::optional<ssize_t> try_pread(int descriptor, void* memory, std::size_t bytes,
                                   std::int64_t offset);
  std::optional<ssize_t> pwrite(int descriptor, const void* memory, std::size_t bytes,
                                std::int64_t offset);
  // As one call of Linux, through memory of the host.
  std::optional<ssize_t> call(const VectorCall& call);

  // Calls tell(FileReader&) for every reader, without the lock.
  template <class Tell>
  void each_reader(Tell tell) const {
    for (const auto& reader : readers()) tell(*reader);
  }
  // In the child of fork(), for one that is not the process's.
  void after_fork_child();
  // The sum of all readers, also of readers whose last range was removed.
  [[nodiscard]] ReaderStats stats() const;

 private:
  struct Range {
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;  // The first byte behind it.
    std::shared_ptr<FileReader> reader;
    std::uint32_t calls = 0;
    bool leaves = false;
  };
  class Use;

  std::optional<ssize_t> read_near(int descriptor, void* memory, std::size_t bytes,
                                   std::int64_t offset);
  template <class Serve>
  std::optional<ssize_t> serve(const void* memory, std::size_t bytes, Serve serve);
  // Null: of no range, or of one that leaves.
  std::shared_ptr<Range> begin_call(const void* memory);
  void end_call(Range& range);
  [[nodiscard]] std::vector<std::shared_ptr<FileReader>> readers() const;
  void drop_reader(const std::shared_ptr<FileReader>& reader);
  void become_child();

  Ranges ranges_;  // Without ranges that leave. Changed under the lock.
  mutable std::mutex mutex_;
  std::condition_variable call_ended_;
  std::map<std::uintptr_t, std::shared_ptr<Range>> by_first_;
  std::vector<std::shared_ptr<FileReader>> readers_;
  std::atomic<bool> any_reader_{false};
  ReaderStats ended_;  // Of readers that went.
};

void add_to(ReaderStats& sum, const ReaderStats& more);
// The counts since `before`.
ReaderStats since(const ReaderStats& before, ReaderStats now);

}  // namespace k2k::router
