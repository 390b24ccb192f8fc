#pragma once
// The memory of a device, and the parts of it that the host may access.
//
//   syscall area     slots, rings, arena, `closed`; lock words and counters     host-visible
//   private memory   stacks and local memory of all units, one range            private if strict
//   allocations      allocate()                                                 private if strict
//
// The area and private memory are one reservation each, so a few comparisons, without a lock,
// decide whether the host may access an address, for device code and for the server.
//
// Threading: host_may_access() from anywhere at any time; allocate() and free() from anywhere,
// serialised by a lock.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "backend/cpu/pages.hpp"
#include "backend/device_config.hpp"
#include "backend/given_memory.hpp"
#include "base/own_process.hpp"
#include "base/ranges.hpp"
#include "base/result.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::cpu {

// A strict device searches its allocations one by one.
inline constexpr std::uint32_t strict_allocations_max = 1024;

class DeviceMemory {
 public:
  DeviceMemory(const DeviceConfig& config, std::uint32_t waves, std::size_t private_bytes,
               protocol::DeviceScope scope);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  [[nodiscard]] bool usable() const { return !area_pages_.empty() && !private_pages_.empty(); }
  [[nodiscard]] const protocol::AreaView& area() const { return area_; }
  [[nodiscard]] std::size_t area_bytes() const { return area_pages_.bytes(); }
  // Reserved, not accessible yet.
  [[nodiscard]] std::byte* private_memory() const { return private_pages_.data(); }

  // Zeroed, aligned to 64 bytes; page-aligned from the size of a page on. Errors: ENOMEM.
  Result<void*> allocate(std::size_t bytes);
  void free(void* address);
  // As allocate(), but never private; in huge pages from the size of a huge page on. Errors:
  // ENOMEM.
  Result<void*> allocate_shared(std::size_t bytes);
  void free_shared(void* address);

  [[nodiscard]] bool host_may_access(const void* address, std::size_t bytes) const;
  // In an allocation or in private memory; takes a lock.
  [[nodiscard]] bool gave_to_kernels(const void* address, std::size_t bytes) const;
  // Registered memory begins or continues at `address`: the server takes or refuses it.
  [[nodiscard]] bool is_registered(const void* address) const {
    const Ranges* const ranges = registered_.load(std::memory_order_acquire);
    return ranges != nullptr && ranges->near(address) && ranges->holds(address, 1);
  }
  void set_registered(const Ranges* ranges) {
    registered_.store(ranges, std::memory_order_release);  // Pairs with is_registered().
  }

 private:
  struct Range {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
  };

  // Zeroed, and entered into given_. Errors: ENOMEM.
  Result<void*> give(std::size_t bytes);
  void take_back(void* address);

  const bool strict_;
  GivenMemory given_;
  std::atomic<const Ranges*> registered_{nullptr};
  Pages area_pages_;
  Pages private_pages_;
  OwnMemory own_area_;
  OwnMemory own_private_;
  protocol::AreaView area_;
  std::mutex mutex_;
  std::array<Range, strict_allocations_max> allocations_;  // Guarded for writing by mutex_.
  std::atomic<std::uint32_t> allocations_used_{0};         // Entries that were used at some time.
};

}  // namespace k2k::backend::cpu
