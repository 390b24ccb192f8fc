#pragma once
// The memory that a device gave to its kernels, by address: for a policy that names the memory
// which calls may reach. Nothing else looks here.
//
// Threading: from anywhere; add() and remove() by code that allocates memory anyway.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace k2k::backend {

// A device's knowledge of the memory that it gives to its kernels (DeviceInfo::kernel_memory).
class KernelMemory {
 public:
  KernelMemory() = default;
  virtual ~KernelMemory() = default;
  KernelMemory(const KernelMemory&) = delete;
  KernelMemory& operator=(const KernelMemory&) = delete;

  // Do all of these bytes lie in memory that the device gives to its kernels beside the arena: an
  // allocation, stacks and local memory of work-items, a live demand region; and, for a call that
  // only reads them, constants that were compiled with kernels? Takes locks.
  [[nodiscard]] virtual bool gave_to_kernels(const void* address, std::size_t bytes,
                                             bool only_read) const = 0;
};

class GivenMemory {
 public:
  // Both throw std::bad_alloc, and expect memory that no other range meets.
  void add(const void* address, std::size_t bytes) {
    const std::unique_lock lock(mutex_);
    enter(address, {.bytes = bytes});
  }
  // As long as `pages` has an owner.
  void add(const void* address, std::size_t bytes, const std::shared_ptr<void>& pages) {
    const std::unique_lock lock(mutex_);
    std::erase_if(ranges_, [](const auto& range) { return range.second.ended(); });
    enter(address, {.bytes = bytes, .is_owned = true, .pages = pages});
  }
  void remove(const void* address) {
    const std::unique_lock lock(mutex_);
    ranges_.erase(reinterpret_cast<std::uintptr_t>(address));
  }

  // Do all of these bytes lie in one range?
  [[nodiscard]] bool holds(const void* address, std::size_t bytes) const {
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    const std::shared_lock lock(mutex_);
    auto range = ranges_.upper_bound(first);
    if (range == ranges_.begin()) return false;
    --range;
    const std::uintptr_t before = first - range->first;
    return before <= range->second.bytes && bytes <= range->second.bytes - before &&
           !range->second.ended();
  }

 private:
  struct Range {
    std::size_t bytes = 0;
    bool is_owned = false;
    std::weak_ptr<void> pages{};
    [[nodiscard]] bool ended() const { return is_owned && pages.expired(); }
  };
  void enter(const void* address, Range range) {
    ranges_.insert_or_assign(reinterpret_cast<std::uintptr_t>(address), std::move(range));
  }

  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, Range> ranges_;
};

}  // namespace k2k::backend
