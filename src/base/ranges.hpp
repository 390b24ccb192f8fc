#pragma once
// The registered ranges of device memory, each with a kind: a number above 0 that the user chooses.
//
//   near()     for every call of a host program: is the address between the lowest and the highest?
//   kind_of()  if near: does the whole buffer lie in one range, and of which kind?
//   watched()  are calls with host memory of interest, too? Then every address is near.
//
// Readers never wait, so that signal handlers may read. There are two copies of the sorted
// table; a writer fills the copy that is not current and then makes it current. A reader reads
// again only if another writer has begun after that, which it sees in the number of the current
// copy.
//
// Threading: near(), kind_of(), holds(), all() and watched() from anywhere; changes from any
// thread, one at a time.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace k2k {

class Ranges {
 public:
  static constexpr std::size_t ranges_max = 256;

  struct Held {
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;  // The byte after the end.
    int kind = 0;
  };

  // One compare if nothing is registered or watched: then no address is above the lowest.
  [[nodiscard]] bool near(const void* memory) const {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    return address >= low_.load(std::memory_order_relaxed) &&
           address < high_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool empty() const { return high_.load(std::memory_order_relaxed) == 0; }

  [[nodiscard]] bool holds(const void* memory, std::size_t bytes) const {
    return kind_of(memory, bytes) != 0;
  }
  // 0 if the buffer begins outside of all ranges, or exceeds its range.
  [[nodiscard]] int kind_of(const void* memory, std::size_t bytes) const {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    while (true) {  // Each further round means that a writer completed a table.
      const std::uint64_t number =
          number_.load(std::memory_order_acquire);  // Pairs with publish().
      const Copy& copy = copies_[number & 1];
      // Finds the last range that begins at or before the address, without branches: after a system
      // call the branch predictors are cold.
      std::size_t at = 0;
      for (std::size_t left = copy.count.load(std::memory_order_acquire); left > 1;) {
        const std::size_t half = left / 2;
        at += word(copy.ranges[at + half].first) <= address ? half : 0;
        left -= half;
      }
      const std::uintptr_t first = word(copy.ranges[at].first);
      const std::uintptr_t last = word(copy.ranges[at].last);
      const int kind = copy.ranges[at].kind.load(std::memory_order_acquire);
      if (number_.load(std::memory_order_relaxed) != number) continue;
      return address >= first && address < last && bytes <= last - address ? kind : 0;
    }
  }

  // Copies at most `room` ranges of one moment, in the order of their addresses. Returns the
  // number.
  std::size_t all(Held* into, std::size_t room) const;

  // Returns 0, or -EINVAL: null, no bytes, an end beyond the address space, no kind; -EEXIST: it
  // overlaps a range; -ENOSPC: ranges_max exist. The caller excludes other writers.
  int add(const void* memory, std::size_t bytes, int kind = 1);
  // Stores the removed range in `was`. -ENOENT: no range begins there.
  int remove(const void* memory, Held* was = nullptr);
  // Removes the ranges that this range would overlap. Returns their number.
  int remove_overlapping(const void* memory, std::size_t bytes);
  // Sets watched().
  void watch(bool all);
  [[nodiscard]] bool watched() const { return watched_.load(std::memory_order_relaxed); }

 private:
  struct Range {
    std::atomic<std::uintptr_t> first{0};
    std::atomic<std::uintptr_t> last{0};  // The byte after the end.
    std::atomic<int> kind{0};
  };
  struct Copy {
    std::atomic<std::size_t> count{0};
    Range ranges[ranges_max];
  };

  // A reader that sees a word of a later table also sees that its own is no longer current: the
  // word was stored with release, is loaded with acquire, and the number is loaded once more
  // afterwards.
  static std::uintptr_t word(const std::atomic<std::uintptr_t>& from) {
    return from.load(std::memory_order_acquire);
  }
  static void set(Range& range, std::uintptr_t first, std::uintptr_t last, int kind);
  static void set(Range& range, const Range& from);
  [[nodiscard]] Copy& current() { return copies_[number_.load(std::memory_order_relaxed) & 1]; }
  [[nodiscard]] Copy& other() { return copies_[~number_.load(std::memory_order_relaxed) & 1]; }
  void publish();
  void show_ends();

  // Every range that is in both tables lies between the two values, so it does not matter which of
  // the two words a reader sees first.
  std::atomic<std::uintptr_t> low_{UINTPTR_MAX};
  std::atomic<std::uintptr_t> high_{0};
  std::atomic<bool> watched_{false};
  std::atomic<std::uint64_t> number_{0};  // Of the current copy.
  Copy copies_[2];
};

}  // namespace k2k
