#pragma once
// The device to build: on the cpu backend everything is free to choose, on a GPU most is given.

#include <cstdint>

namespace k2k::backend {

enum class Schedule : std::uint8_t {
  round_robin,  // Every ready work-item in turn.
  random,       // Seeded: any ready work-item, sometimes none; replays from the seed.
  adversarial,  // The same work-item as long as it is ready, the newest first, within a bound:
                // weak forward progress.
};

struct DeviceConfig {
  std::uint32_t compute_units = 0;        // 0 = usable CPUs less one for the server, at least 1.
  std::uint32_t wave_lanes = 32;          // 32 or 64.
  std::uint32_t resident_waves = 64;      // A unit.
  std::uint32_t resident_groups = 32;     // A unit.
  std::uint32_t local_bytes = 64 * 1024;  // A work-group, at most.
  std::uint32_t stack_bytes = 64 * 1024;  // A work-item; rounded up to pages.
  Schedule schedule = Schedule::round_robin;
  std::uint64_t seed = 1;             // For Schedule::random.
  bool strict = false;                // Stacks, local and device memory are not host-visible.
  std::uint32_t spin_us = 50;         // A unit whose items all wait spins this long, then sleeps.
  std::uint32_t watchdog_ms = 10000;  // Names work-items that made no progress; 0 = never.
  std::uint32_t rings = 1;            // Doorbell rings, 1 to 8: top halves that can share the work.
  std::uint32_t ring_entries = 1024;  // A ring; rounded up to a power of two.
  std::uint32_t arena_blocks = 64;    // Blocks of 8 KiB for what the host cannot read.
};

}  // namespace k2k::backend
