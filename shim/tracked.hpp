#pragma once
// The program's descriptors that were used with device memory, and which files they are.
//
// A descriptor is looked at by the kernel once, at its first such use; the answer is kept until
// it is closed. A program that uses no device memory has none here, and its calls of close() look
// at one word. A close that escapes us (docs/design/shim.md) leaves an entry behind: nothing relies
// on it but speed, and the next look or close mends it.
//
// Memory: 24 bytes a number, untouched until used. Descriptors from descriptors_max on are not
// kept: their calls go to the kernel.
//
// Threading: routing_of(), any(), tracked() from anywhere. The others: one at a time.

#include <atomic>
#include <cstdint>

namespace k2k::shim {

inline constexpr int descriptors_max = 65536;

struct File {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const File&) const = default;
};

// Routing flags: what the router may do with a descriptor.
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
  // Of a tracked descriptor.
  [[nodiscard]] File file_of(int descriptor) const {
    const Entry& entry = entries_[descriptor];
    return {entry.device.load(std::memory_order_relaxed),
            entry.inode.load(std::memory_order_relaxed)};
  }

  // Expects fits(). routing_unknown: it is tracked, and the kernel is asked when it is used.
  void track(int descriptor, const File& file, std::uint32_t routing);
  void drop(int descriptor);
  // What the kernel was asked about open descriptions (F_SETFL) is to be asked again.
  void renew() { renewed_.fetch_add(1, std::memory_order_relaxed); }
  // The first tracked one of first..last; -1 if there is none.
  [[nodiscard]] int next(int first, int last) const;

  static bool fits(int descriptor) { return descriptor >= 0 && descriptor < descriptors_max; }

 private:
  struct Entry {
    std::atomic<std::uint64_t> stamp{0};  // The epoch and, in the lowest byte, the routing flags.
    std::atomic<std::uint64_t> device{0};
    std::atomic<std::uint64_t> inode{0};
  };

  [[nodiscard]] std::uint64_t epoch() const { return renewed_.load(std::memory_order_relaxed) + 1; }

  // All zero at first, so that the table is no part of the library's file.
  std::atomic<bool> ever_{false};
  std::atomic<std::uint64_t> renewed_{0};
  std::atomic<std::uint64_t> words_[descriptors_max / 64] = {};
  Entry entries_[descriptors_max];
};

}  // namespace k2k::shim
