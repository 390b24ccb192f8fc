#pragma once
// The memory that kernels may touch: every allocation, pinned page and module variable, by bounds.
// Device pointers are host pointers. An access outside is the driver's "illegal address".
//
// Threading: find() from any thread, at any time; changes from any thread.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace k2k::emulator::exec {

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t bytes) const {
    return address >= begin && address < end && bytes <= end - address;
  }
};

class MemoryMap {
 public:
  void add(Range range);
  // `begin` is that of add().
  void remove(std::uint64_t begin);
  // Called with each range that remove() takes away. Set before the first.
  void on_remove(std::function<void(Range)> call) { removed_ = std::move(call); }
  // The range that holds `address`, or one of no bytes.
  [[nodiscard]] Range find(std::uint64_t address) const;

 private:
  using Ranges = std::map<std::uint64_t, std::uint64_t>;

  mutable std::mutex mutex_;
  Ranges ranges_;  // Begin → end.
  std::function<void(Range)> removed_;
};

}  // namespace k2k::emulator::exec
