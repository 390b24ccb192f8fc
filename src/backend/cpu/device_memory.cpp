#include "backend/cpu/device_memory.hpp"

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "backend/carver.hpp"
#include "base/huge_pages.hpp"

namespace k2k::backend::cpu {

namespace {

constexpr std::size_t line_bytes = 64;

// Memory of a page or more is in whole pages, so that files are read into it directly.
std::size_t alignment_of(std::size_t bytes) { return bytes < page_bytes ? line_bytes : page_bytes; }

std::size_t carve(protocol::AreaView& area, const DeviceConfig& config, std::uint32_t waves,
                  std::byte* base) {
  Carver<line_bytes> carver(base);
  area.wave_count = waves;
  area.wave_lanes = config.wave_lanes;
  area.slots = carver.take<protocol::Slot>(std::size_t{waves} * config.wave_lanes);
  area.arena_blocks = arena_blocks_of(config, arena_blocks_cpu);
  area.arena = carver.take<std::byte>(std::size_t{area.arena_blocks} * protocol::arena_block_bytes);
  area.closed = carver.take<std::uint32_t>(1);
  area.ring_count = config.rings;
  for (std::uint32_t ring = 0; ring < config.rings; ++ring) {
    protocol::DoorbellRing& doorbells = area.rings[ring];
    doorbells.entry_count = ring_entries_of(config, ring_entries_cpu);
    doorbells.entries = carver.take<protocol::DoorbellEntry>(doorbells.entry_count);
    doorbells.consumed = carver.take<std::uint64_t>(1);
    doorbells.tail = carver.take<std::uint64_t>(1);
    doorbells.consumed_seen = carver.take<std::uint64_t>(1);
    doorbells.device_scope = area.device_scope;
  }
  area.locks = carver.take<std::uint64_t>(waves);
  area.lent = carver.take<std::uint64_t>(area.arena_blocks);
  area.tickets = carver.take<std::uint64_t>(protocol::ticket_words);
  return carver.used();
}

std::size_t area_bytes_of(const DeviceConfig& config, std::uint32_t waves) {
  protocol::AreaView counted;
  return carve(counted, config, waves, nullptr);
}

}  // namespace

DeviceMemory::DeviceMemory(const DeviceConfig& config, std::uint32_t waves,
                           std::size_t private_bytes, protocol::DeviceScope scope)
    : strict_(config.strict),
      area_pages_(area_bytes_of(config, waves)),
      private_pages_(private_bytes, Pages::Access::none),
      own_area_(area_pages_.data(), area_pages_.bytes()),
      own_private_(private_pages_.data(), private_pages_.bytes()) {
  area_.device_scope = scope;
  if (!area_pages_.empty()) carve(area_, config, waves, area_pages_.data());
}

namespace {

// More than a process can address is refused here: a sanitizer's allocator would end the process.
constexpr std::size_t addressable_bytes = std::size_t{1} << 47;

Error no_memory(std::size_t bytes) {
  return Error{ENOMEM, "no memory for " + std::to_string(bytes) + " bytes of device memory"};
}

// From calloc: large memory costs nothing until it is accessed. The word before the address holds
// calloc's pointer. Returns null if memory is exhausted.
void* take_zeroed(std::size_t bytes) {
  const bool huge = bytes >= huge_page_bytes;
  const std::size_t alignment = huge ? huge_page_bytes : alignment_of(bytes);
  void* const given =
      bytes <= addressable_bytes ? std::calloc(bytes + alignment + line_bytes, 1) : nullptr;
  if (given == nullptr) return nullptr;
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(given) + sizeof(void*);
  void* const address = reinterpret_cast<void*>(round_up(first, alignment));
  static_cast<void**>(address)[-1] = given;
  if (huge) advise_huge_pages(address, bytes);
  return address;
}

void give_back(void* address) {
  if (address != nullptr) std::free(static_cast<void**>(address)[-1]);
}

}  // namespace

Result<void*> DeviceMemory::give(std::size_t bytes) {
  void* const address = take_zeroed(bytes);
  if (address == nullptr) return no_memory(bytes);
  try {
    given_.add(address, bytes);
  } catch (const std::bad_alloc&) {
    give_back(address);
    return no_memory(bytes);
  }
  return address;
}

void DeviceMemory::take_back(void* address) {
  if (address == nullptr) return;
  given_.remove(address);
  give_back(address);
}

Result<void*> DeviceMemory::allocate_shared(std::size_t bytes) { return give(bytes); }

void DeviceMemory::free_shared(void* address) { take_back(address); }

Result<void*> DeviceMemory::allocate(std::size_t bytes) {
  if (bytes > addressable_bytes) return no_memory(bytes);
  const std::size_t rounded = round_up(bytes == 0 ? 1 : bytes, line_bytes);
  const Result<void*> given = give(rounded);
  if (!given || !strict_) return given;
  void* const address = given.value();

  const std::lock_guard lock(mutex_);
  for (std::uint32_t index = 0; index < strict_allocations_max; ++index) {
    Range& range = allocations_[index];
    if (range.end.load(std::memory_order_relaxed) != 0) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    range.begin.store(begin, std::memory_order_relaxed);
    range.end.store(begin + rounded, std::memory_order_release);  // Pairs with host_may_access().
    if (index >= allocations_used_.load(std::memory_order_relaxed)) {
      allocations_used_.store(index + 1, std::memory_order_release);
    }
    return address;
  }
  take_back(address);
  return Error{ENOMEM, "a strict device holds at most " + std::to_string(strict_allocations_max) +
                           " allocations; free some, or set device.strict = false"};
}

void DeviceMemory::free(void* address) {
  if (address == nullptr) return;
  if (strict_) {
    const std::lock_guard lock(mutex_);
    const std::uint32_t used = allocations_used_.load(std::memory_order_relaxed);
    bool known = false;
    for (std::uint32_t index = 0; index < used && !known; ++index) {
      Range& range = allocations_[index];
      known =
          range.begin.load(std::memory_order_relaxed) == reinterpret_cast<std::uintptr_t>(address);
      if (!known) continue;
      range.end.store(0, std::memory_order_release);
      range.begin.store(0, std::memory_order_relaxed);
    }
    K2K_EXPECT(known);
  }
  take_back(address);
}

bool DeviceMemory::gave_to_kernels(const void* address, std::size_t bytes) const {
  const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(address) -
                                reinterpret_cast<std::uintptr_t>(private_pages_.data());
  const std::size_t all = private_pages_.bytes();
  return (before <= all && bytes <= all - before) || given_.holds(address, bytes);
}

bool DeviceMemory::host_may_access(const void* address, std::size_t bytes) const {
  if (!strict_) return true;
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t last = first + (bytes == 0 ? 0 : bytes - 1);
  if (last < first) return false;
  if (private_pages_.overlaps(address, bytes)) return false;
  const std::uint32_t used = allocations_used_.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < used; ++index) {
    const std::uintptr_t end = allocations_[index].end.load(std::memory_order_acquire);
    const std::uintptr_t begin = allocations_[index].begin.load(std::memory_order_relaxed);
    if (first < end && last >= begin) return false;
  }
  return true;
}

}  // namespace k2k::backend::cpu
