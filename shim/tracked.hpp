#pragma once
// The program's descriptors that were used with device memory, and their files.
//
// Linux is asked about a descriptor once, at its first use with device memory; the answer is kept
// until the descriptor is closed. A program without device memory has no entries, and its calls of
// close() read one word. A close that escapes this library (docs/design/shim.md) leaves an entry
// behind. Only speed depends on such an entry, and the next look or close corrects it.
//
// Memory: 24 bytes per number, untouched until used. Descriptors from descriptors_max on have no
// entries: their calls go to Linux.
//
// Threading: routing_of(), any(), tracked() from any thread. The others: one thread at a time.

#include <atomic>
#include <cstdint>

namespace k2k::shim {

inline constexpr int descriptors_max = 65536;

struct File {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const File&) const = default;
};

// Routing flags: the directions in which the router may serve a descriptor.
inline constexpr std::uint32_t routing_unknown = 0;
inline constexpr std::uint32_t routing_known = 1;
// Open for reading, no O_DIRECT, its data on a disk; and likewise for writing.
inline constexpr std::uint32_t routes_reads = 2;
inline constexpr std::uint32_t routes_writes = 4;

class Tracked {
 public:
  // Was any descriptor ever tracked?
  [[nodiscard]] bool any() const { return ever_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool tracked(int descriptor) const {
    return fits(descriptor) &&
           (words_[descriptor / 64].load(std::memory_order_relaxed) >> (descriptor % 64) & 1) != 0;
  }
  // Routing flags; routing_unknown if it was not read since the last renew().
  [[nodiscard]] std::uint32_t routing_of(int descriptor) const {
    if (!fits(descriptor)) return routing_unknown;
    // Pairs with track(): the file is seen with its routing flags.
    const std::uint64_t stamp = entries_[descriptor].stamp.load(std::memory_order_acquire);
    return stamp >> 8 == epoch() ? static_cast<std::uint32_t>(stamp & 0xff) : routing_unknown;
  }
  // The file of a tracked descriptor.
  [[nodiscard]] File file_of(int descriptor) const {
    const Entry& entry = entries_[descriptor];
    return {entry.device.load(std::memory_order_relaxed),
            entry.inode.load(std::memory_order_relaxed)};
  }

  // Expects fits(). routing_unknown: Linux is asked at the descriptor's next use.
  void track(int descriptor, const File& file, std::uint32_t routing);
  void drop(int descriptor);
  // Invalidates all routing flags, after an F_SETFL: Linux is asked again.
  void renew() { renewed_.fetch_add(1, std::memory_order_relaxed); }
  // The first tracked descriptor of first..last; -1 if there is none.
  [[nodiscard]] int next(int first, int last) const;

  static bool fits(int descriptor) { return descriptor >= 0 && descriptor < descriptors_max; }

 private:
  struct Entry {
    std::atomic<std::uint64_t> stamp{0};  // The epoch and, in the lowest byte, the routing flags.
    std::atomic<std::uint64_t> device{0};
    std::atomic<std::uint64_t> inode{0};
  };

  [[nodiscard]] std::uint64_t epoch() const { return renewed_.load(std::memory_order_relaxed) + 1; }

  // All zero at first, so that the library's file does not contain the table.
  std::atomic<bool> ever_{false};
  std::atomic<std::uint64_t> renewed_{0};
  std::atomic<std::uint64_t> words_[descriptors_max / 64] = {};
  Entry entries_[descriptors_max];
};

}  // namespace k2k::shim
