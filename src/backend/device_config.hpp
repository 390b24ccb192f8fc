#pragma once
// The configuration of a device: on the cpu backend everything can be chosen, on a GPU the hardware
// determines most.

#include <algorithm>
#include <bit>
#include <cstdint>

namespace k2k::backend {

enum class Schedule : std::uint8_t {
  round_robin,  // Every ready work-item in turn.
  random,       // Seeded: any ready work-item, sometimes none; replays from the seed.
  adversarial,  // The same work-item as long as it is ready, the newest first, within a bound:
                // weak forward progress.
};

struct DeviceConfig {
  std::uint32_t compute_units = 0;        // 0: usable CPUs minus one for the server, at least 1.
  std::uint32_t wave_lanes = 32;          // 32 or 64.
  std::uint32_t resident_waves = 64;      // Per unit.
  std::uint32_t resident_groups = 32;     // Per unit.
  std::uint32_t local_bytes = 64 * 1024;  // The limit per work-group.
  std::uint32_t stack_bytes = 64 * 1024;  // Per work-item; rounded up to pages.
  Schedule schedule = Schedule::round_robin;
  std::uint64_t seed = 1;             // For Schedule::random.
  bool strict = false;                // Stacks, local and device memory are not host-visible.
  std::uint32_t spin_us = 50;         // A unit with only waiting items spins this long, then
                                      // sleeps.
  std::uint32_t watchdog_ms = 10000;  // Reports work-items that made no progress for this long; 0:
                                      // never.
  std::uint32_t rings = 1;            // Doorbell rings, 1 to 8: top halves that can share the work.
  // Doorbells per ring; rounded up to a power of two. 0: 1,024 on the cpu backend, 65,536 on a GPU,
  // whose lanes should never wait for a place.
  std::uint32_t ring_entries = 0;
  // Blocks of 8 KiB for buffers that the host cannot address. 0: 64 on the cpu backend, where it
  // can address nearly all of them, and 1,024 on a GPU.
  std::uint32_t arena_blocks = 0;
};

inline constexpr std::uint32_t ring_entries_cpu = 1024;
inline constexpr std::uint32_t ring_entries_gpu = 65'536;
inline constexpr std::uint32_t arena_blocks_cpu = 64;
inline constexpr std::uint32_t arena_blocks_gpu = 1024;

constexpr std::uint32_t arena_blocks_of(const DeviceConfig& config, std::uint32_t automatic) {
  return config.arena_blocks == 0 ? automatic : config.arena_blocks;
}
constexpr std::uint32_t ring_entries_of(const DeviceConfig& config, std::uint32_t automatic) {
  return std::bit_ceil(config.ring_entries == 0 ? automatic : std::max(config.ring_entries, 2u));
}

}  // namespace k2k::backend
