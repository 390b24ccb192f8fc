#pragma once
// The memory of a GPU.
//
//   pinned, mapped   slots, rings, arena, `closed`, `cancel`; copies of lock and loan words for the
//                    sweep                                            host and device, same address
//   device           lock and loan words, ring tails and consumed_seen, kernel sites, ranges
//   allocations      allocate(): device; allocate_shared(): pinned and mapped
//
// The area is allocated completely when the device is built. Host-visible ranges are stored with
// their bounds, so host_may_access() needs no driver call.
//
// Threading: host_may_access() from anywhere, at any time; other functions from any thread except a
// service thread, with the context current.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backend/device_config.hpp"
#include "backend/gpu/driver.hpp"
#include "backend/launch.hpp"
#include "base/own_process.hpp"
#include "base/ranges.hpp"
#include "base/result.hpp"
#include "device/platform/item.hpp"
#include "device/platform/shared_range.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::gpu {

// The area, and one for each call of allocate_shared().
inline constexpr std::uint32_t shared_ranges_max = 64;
inline constexpr std::uint32_t device_ranges_max = 1024;
// The most ranges that a launch describes to its kernel: of this memory, and of registered memory.
inline constexpr std::uint32_t told_ranges_max =
    shared_ranges_max + static_cast<std::uint32_t>(Ranges::ranges_max);

class Memory {
 public:
  explicit Memory(const Driver& driver) : driver_(driver) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Allocates the area for the waves of that device. Errors: ENOMEM, EIO.
  Status build(const DeviceConfig& config, const DeviceInfo& info);

  // The device's view: the server accesses only its host-visible parts.
  [[nodiscard]] const protocol::AreaView& area() const { return area_; }
  // The same, with the copies of lock and loan words from read_locks().
  [[nodiscard]] const protocol::AreaView& mirror() const { return mirror_; }
  [[nodiscard]] std::size_t area_bytes() const { return pinned_bytes_; }
  [[nodiscard]] std::uint32_t* cancel_word() const { return cancel_; }
  [[nodiscard]] device::platform::KernelSite* sites() const { return sites_; }
  [[nodiscard]] device::platform::SharedRange* ranges() const { return ranges_; }
  [[nodiscard]] Stream copies() const { return copies_; }

  struct RangeCounts {
    std::uint32_t shared = 0;
    std::uint32_t registered = 0;
  };
  // Writes the ranges that a kernel is told, at most told_ranges_max: shared ones, then registered
  // ones.
  RangeCounts told_ranges(device::platform::SharedRange* to);
  // In stream order: zeroes the sites, copies the ranges to the device. Returns their numbers.
  Result<RangeCounts> prepare_launch(Stream stream);
  // Backend::set_registered().
  void set_registered(const Ranges* ranges) {
    registered_.store(ranges, std::memory_order_release);  // Pairs with told_ranges().
  }
  // In stream order: copies lock and loan words to the mirror, and back.
  Status read_locks(Stream stream);
  Status write_locks(Stream stream);

  Result<void*> allocate(std::size_t bytes);
  void free(void* address);
  Result<void*> allocate_shared(std::size_t bytes);
  void free_shared(void* address);
  Status copy(void* to, const void* from, std::size_t bytes);
  // Waits until the stream is empty, by polling the driver, which drives its progress. EIO if the
  // stream failed.
  Status finish(Stream stream);

  [[nodiscard]] bool host_may_access(const void* address, std::size_t bytes) const;
  // In memory of allocate() or allocate_shared().
  [[nodiscard]] bool allocated(const void* address, std::size_t bytes) const;

 private:
  struct Range {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
  };
  // False if all are taken.
  template <std::size_t count>
  static bool enter(std::array<Range, count>& ranges, const void* address, std::size_t bytes);
  template <std::size_t count>
  static bool take_out(std::array<Range, count>& ranges, const void* address);

  const Driver& driver_;
  bool follows_pages_ = false;
  std::atomic<const Ranges*> registered_{nullptr};
  Stream copies_ = nullptr;
  std::byte* pinned_ = nullptr;
  std::size_t pinned_bytes_ = 0;
  OwnMemory own_pinned_;
  void* device_ = nullptr;
  std::size_t device_bytes_ = 0;
  protocol::AreaView area_;
  protocol::AreaView mirror_;
  std::uint32_t* cancel_ = nullptr;
  device::platform::KernelSite* sites_ = nullptr;
  device::platform::SharedRange* ranges_ = nullptr;
  device::platform::SharedRange* staged_ranges_ = nullptr;  // Pinned.
  std::mutex mutex_;                                        // Writers of the two below.
  std::array<Range, shared_ranges_max> shared_;
  std::array<Range, device_ranges_max> hidden_;
};

}  // namespace k2k::backend::gpu
