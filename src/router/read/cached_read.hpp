#pragma once
// pread(2) of cached pages: returns at once, or -EAGAIN; then a thread that may block makes the
// read.
//
// preadv2(2) with RWF_NOWAIT reads cached pages alone. That call takes 25 to 35 ns more than
// pread(2), a tenth of a cached read of 4 KiB, because Linux copies a vector. Once it answered 64
// short reads of a descriptor in a row, pread(2) reads from that descriptor, until a read has
// waited:
//
//           a short read was answered: + 1 -->
//   tried   0 ... streak_from                 plain: by pread(2)
//     ^                                         |
//     +-----------------------------------------+
//       a read was not; the number was closed; note_waited(): a read took longer than memory does
//
// A plain read of an uncached page blocks its thread once; its answer is right. note_waited()
// resets all descriptors, because one clock reading measures several calls.
//
// Threading: any; words of one descriptor are relaxed and race harmlessly. A forked child begins
// with its parent's.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "io/file/raw.hpp"

namespace k2k::router {

class CachedReads {
 public:
  static constexpr std::uint32_t streak_from = 64;
  static constexpr std::size_t short_bytes = 16 * 1024;  // A vector costs longer reads nothing.
  static constexpr int descriptors_max = 1024;           // Others are always tried.

  // The table of this process, as descriptors belong to the process.
  static CachedReads& of_process() { return process_; }

  // The count or a negative errno; -EAGAIN: some of it is not in memory, and nothing may have been
  // read; -EOPNOTSUPP: the file system, or Linux, cannot tell. Arguments that Linux refuses at once
  // are refused here. A miss makes Linux read ahead.
  std::int64_t pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
    if (!is_plain(descriptor, bytes)) return try_read(descriptor, memory, bytes, offset);
    return plain(descriptor, memory, bytes, offset);
  }

  // pread(2) itself.
  static std::int64_t plain(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
    return io::raw(SYS_pread64, descriptor, memory, bytes, offset);
  }

  // True if the descriptor's next read is plain.
  [[nodiscard]] bool is_plain(int descriptor, std::size_t bytes) const {
    return has_word(descriptor) && bytes <= short_bytes &&
           words_[descriptor].load(std::memory_order_relaxed) == full();
  }
  // A call of this thread took longer than a memory access: all descriptors are tried again.
  void note_waited() { epoch_.fetch_add(1, std::memory_order_relaxed); }
  // The descriptor's number may then name another file.
  void note_closed(int descriptor) {
    if (has_word(descriptor)) words_[descriptor].store(0, std::memory_order_relaxed);
  }

 private:
  // A word: the epoch, and below it the reads that were answered in it.
  static constexpr std::uint32_t count_bits = 8;
  static_assert(streak_from < 1u << count_bits);
  static bool has_word(int descriptor) { return descriptor >= 0 && descriptor < descriptors_max; }
  [[nodiscard]] std::uint32_t begun() const {
    return epoch_.load(std::memory_order_relaxed) << count_bits;
  }
  [[nodiscard]] std::uint32_t full() const { return begun() | streak_from; }

  std::int64_t try_read(int descriptor, void* memory, std::size_t bytes, std::int64_t offset);
  void note_answered(int descriptor);
  std::int64_t missed(int descriptor);

  static CachedReads process_;
  std::atomic<std::uint32_t> epoch_{1};
  std::atomic<std::uint32_t> words_[descriptors_max] = {};
};

inline constinit CachedReads CachedReads::process_;

}  // namespace k2k::router
