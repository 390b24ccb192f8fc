#include "backend/gpu/memory.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include "backend/carver.hpp"
#include "base/units.hpp"

namespace k2k::backend::gpu {

namespace {

constexpr std::size_t line_bytes = 128;  // Of a GPU's caches.
constexpr Nanoseconds query_nap = std::chrono::microseconds(20);

using device::platform::KernelSite;
using device::platform::SharedRange;

}  // namespace

Status Memory::build(const DeviceConfig& config, const DeviceInfo& info) {
  const std::uint32_t waves = info.resident_waves;
  follows_pages_ = info.reaches_host_pages;
  const std::uint32_t ring_entries = ring_entries_of(config, ring_entries_gpu);
  const std::uint32_t blocks = arena_blocks_of(config, arena_blocks_gpu);
  area_.wave_lanes = info.wave_lanes;
  const auto carve_pinned = [&](void* base) {
    Carver<line_bytes> carver(base);
    area_.slots = carver.take<protocol::Slot>(std::size_t{waves} * area_.wave_lanes);
    area_.arena = carver.take<std::byte>(std::size_t{blocks} * protocol::arena_block_bytes);
    area_.closed = carver.take<std::uint32_t>(1);
    cancel_ = carver.take<std::uint32_t>(1);
    for (std::uint32_t ring = 0; ring < config.rings; ++ring) {
      area_.rings[ring].entries = carver.take<protocol::DoorbellEntry>(ring_entries);
      area_.rings[ring].consumed = carver.take<std::uint64_t>(1);
    }
    mirror_.locks = carver.take<std::uint64_t>(waves);
    mirror_.lent = carver.take<std::uint64_t>(blocks + protocol::ticket_words);
    mirror_.tickets = mirror_.lent + blocks;
    staged_ranges_ = carver.take<SharedRange>(told_ranges_max);
    return carver.used();
  };
  const auto carve_device = [&](void* base) {
    Carver<line_bytes> carver(base);
    area_.locks = carver.take<std::uint64_t>(waves);
    area_.lent = carver.take<std::uint64_t>(blocks + protocol::ticket_words);
    area_.tickets = area_.lent + blocks;  // Copied with them.
    for (std::uint32_t ring = 0; ring < config.rings; ++ring) {
      area_.rings[ring].tail = carver.take<std::uint64_t>(1);
      area_.rings[ring].consumed_seen = carver.take<std::uint64_t>(1);
    }
    sites_ = carver.take<KernelSite>(device::platform::kernel_sites);
    ranges_ = carver.take<SharedRange>(told_ranges_max);
    return carver.used();
  };
  area_.wave_count = waves;
  area_.ring_count = config.rings;
  area_.arena_blocks = blocks;
  for (std::uint32_t ring = 0; ring < config.rings; ++ring) {
    area_.rings[ring].entry_count = ring_entries;
  }
  pinned_bytes_ = carve_pinned(nullptr);
  device_bytes_ = carve_device(nullptr);

  Status done = driver_.call(driver_.create_stream(&copies_), "create a stream");
  if (!done) return done;
  void* pinned = nullptr;
  done = driver_.call(driver_.pin(&pinned, pinned_bytes_),
                      "pin " + std::to_string(pinned_bytes_) + " bytes for the syscall area");
  if (!done) return done;
  pinned_ = static_cast<std::byte*>(pinned);
  std::memset(pinned_, 0, pinned_bytes_);
  own_pinned_ = OwnMemory(pinned_, pinned_bytes_);
  done = driver_.call(driver_.allocate(&device_, device_bytes_), "allocate device memory");
  if (!done) return done;
  done = driver_.call(driver_.zero(device_, device_bytes_, copies_), "zero memory");
  if (!done) return done;
  if (done = finish(copies_); !done) return done;

  carve_pinned(pinned_);
  carve_device(device_);
  std::uint64_t* const mirrored_locks = mirror_.locks;
  std::uint64_t* const mirrored_lent = mirror_.lent;
  std::uint64_t* const mirrored_tickets = mirror_.tickets;
  mirror_ = area_;
  mirror_.locks = mirrored_locks;
  mirror_.lent = mirrored_lent;
  mirror_.tickets = mirrored_tickets;
  enter(shared_, pinned_, pinned_bytes_);
  enter(hidden_, device_, device_bytes_);
  return {};
}

Memory::~Memory() {
  if (device_ != nullptr) driver_.free(device_);
  own_pinned_ = OwnMemory();
  if (pinned_ != nullptr) driver_.unpin(pinned_);
  if (copies_ != nullptr) driver_.destroy_stream(copies_);
}

Memory::RangeCounts Memory::told_ranges(SharedRange* to) {
  RangeCounts counts;
  std::uint32_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const Range& range : shared_) {
      const std::uintptr_t end = range.end.load(std::memory_order_acquire);
      if (end == 0) continue;
      to[count].begin = range.begin.load(std::memory_order_relaxed);
      to[count++].end = end;
    }
  }
  counts.shared = count;
  if (const Ranges* const registered = registered_.load(std::memory_order_acquire)) {
    Ranges::Held all[Ranges::ranges_max];
    counts.registered = static_cast<std::uint32_t>(registered->all(all, Ranges::ranges_max));
    for (std::uint32_t at = 0; at < counts.registered; ++at) {
      to[count++] = {all[at].first, all[at].last};
    }
  }
  return counts;
}

Result<Memory::RangeCounts> Memory::prepare_launch(Stream stream) {
  const RangeCounts counts = told_ranges(staged_ranges_);
  const std::size_t count = std::size_t{counts.shared} + counts.registered;
  Status done = driver_.call(
      driver_.zero(sites_, sizeof(KernelSite) * device::platform::kernel_sites, stream),
      "zero the kernel sites");
  if (!done) return done.error();
  done = driver_.call(driver_.copy(ranges_, staged_ranges_, sizeof(SharedRange) * count, stream),
                      "copy to the device");
  if (!done) return done.error();
  return counts;
}

namespace {
Status copy_words(const Driver& driver, Stream stream, std::uint64_t* to, const std::uint64_t* from,
                  std::size_t count) {
  return driver.call(driver.copy(to, from, count * sizeof(std::uint64_t), stream),
                     "copy lock words");
}
}  // namespace

Status Memory::read_locks(Stream stream) {
  Status done = copy_words(driver_, stream, mirror_.locks, area_.locks, area_.wave_count);
  if (!done) return done;
  return copy_words(driver_, stream, mirror_.lent, area_.lent,
                    area_.arena_blocks + protocol::ticket_words);
}

Status Memory::write_locks(Stream stream) {
  Status done = copy_words(driver_, stream, area_.locks, mirror_.locks, area_.wave_count);
  if (!done) return done;
  return copy_words(driver_, stream, area_.lent, mirror_.lent,
                    area_.arena_blocks + protocol::ticket_words);
}

Result<void*> Memory::allocate(std::size_t bytes) {
  const std::size_t rounded = round_up(bytes == 0 ? 1 : bytes, line_bytes);
  void* address = nullptr;
  Status done = driver_.call(driver_.allocate(&address, rounded),
                             "allocate " + std::to_string(bytes) + " bytes of device memory");
  if (!done) return done.error();
  done = driver_.call(driver_.zero(address, rounded, copies_), "zero memory");
  if (done.ok()) done = finish(copies_);
  const std::lock_guard lock(mutex_);
  if (done.ok() && !enter(hidden_, address, rounded)) {
    done = Error{ENOMEM, "a device holds at most " + std::to_string(device_ranges_max - 1) +
                             " allocations; free some, or allocate larger ones"};
  }
  if (done.ok()) return address;
  driver_.free(address);
  return done.error();
}

void Memory::free(void* address) {
  if (address == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    K2K_EXPECT(take_out(hidden_, address));
  }
  driver_.free(address);
}

Result<void*> Memory::allocate_shared(std::size_t bytes) {
  const std::size_t rounded = round_up(bytes == 0 ? 1 : bytes, line_bytes);
  void* address = nullptr;
  const Status done = driver_.call(driver_.pin(&address, rounded),
                                   "pin " + std::to_string(bytes) + " bytes of host memory");
  if (!done) return done.error();
  std::memset(address, 0, rounded);
  const std::lock_guard lock(mutex_);
  if (enter(shared_, address, rounded)) return address;
  driver_.unpin(address);
  return Error{ENOMEM, "host and device share at most " + std::to_string(shared_ranges_max - 1) +
                           " allocations; free some, or allocate larger ones"};
}

void Memory::free_shared(void* address) {
  if (address == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    K2K_EXPECT(take_out(shared_, address));
  }
  driver_.unpin(address);
}

Status Memory::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  const Status done = driver_.call(driver_.copy(to, from, bytes, copies_),
                                   "copy " + std::to_string(bytes) + " bytes");
  return done.ok() ? finish(copies_) : done;
}

Status Memory::finish(Stream stream) {
  constexpr int looks_before_nap = 200;
  Code result = driver_.query(stream);
  for (int look = 0; result == not_ready; ++look) {
    if (look < looks_before_nap) {
      sched_yield();
    } else {
      const timespec nap{0, query_nap.count()};
      nanosleep(&nap, nullptr);
    }
    result = driver_.query(stream);
  }
  return driver_.call(result, "finish its work");
}

template <std::size_t count>
bool Memory::enter(std::array<Range, count>& ranges, const void* address, std::size_t bytes) {
  for (Range& range : ranges) {
    if (range.end.load(std::memory_order_relaxed) != 0) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    range.begin.store(begin, std::memory_order_relaxed);
    range.end.store(begin + bytes, std::memory_order_release);  // Pairs with host_may_access().
    return true;
  }
  return false;
}

template <std::size_t count>
bool Memory::take_out(std::array<Range, count>& ranges, const void* address) {
  for (Range& range : ranges) {
    if (range.end.load(std::memory_order_relaxed) == 0) continue;
    if (range.begin.load(std::memory_order_relaxed) != reinterpret_cast<std::uintptr_t>(address)) {
      continue;
    }
    range.end.store(0, std::memory_order_release);
    return true;
  }
  return false;
}

bool Memory::host_may_access(const void* address, std::size_t bytes) const {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t last = first + (bytes == 0 ? 0 : bytes - 1);
  if (last < first) return false;
  for (const Range& range : shared_) {
    const std::uintptr_t end = range.end.load(std::memory_order_acquire);
    if (end == 0 || first >= end || first < range.begin.load(std::memory_order_relaxed)) continue;
    return last < end;
  }
  if (!follows_pages_) return false;
  // Anything of this process may be meant, but for device memory.
  for (const Range& range : hidden_) {
    const std::uintptr_t end = range.end.load(std::memory_order_acquire);
    const std::uintptr_t begin = range.begin.load(std::memory_order_relaxed);
    if (end != 0 && first < end && last >= begin) return false;
  }
  return true;
}

bool Memory::allocated(const void* address, std::size_t bytes) const {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const auto holds = [&](const Range& range) {
    const std::uintptr_t end = range.end.load(std::memory_order_acquire);  // Pairs with enter().
    const std::uintptr_t begin = range.begin.load(std::memory_order_relaxed);
    const bool is_own = begin == reinterpret_cast<std::uintptr_t>(pinned_) ||
                        begin == reinterpret_cast<std::uintptr_t>(device_);
    return !is_own && first >= begin && first < end && bytes <= end - first;
  };
  return std::ranges::any_of(shared_, holds) || std::ranges::any_of(hidden_, holds);
}

}  // namespace k2k::backend::gpu
