#pragma once
// The platform's description of the running work-item, for device code.

#include <cstddef>
#include <cstdint>

#include "protocol/area.hpp"

namespace k2k::device::platform {

// Groups meet for a kernel-scope call at a site: a counter in device memory, one for each call
// index and launch.
struct KernelSite {
  std::uint32_t arrived = 0;  // Groups that have arrived.
  std::uint32_t done = 0;     // 1 once `value` is the result (producer calls).
  std::int64_t value = 0;
};
inline constexpr std::uint32_t kernel_sites = 64;

// The running work-item. On the cpu backend one object per work-item, stable while it runs; on a
// GPU assembled from registers.
struct Item {
  std::uint32_t group = 0;        // Rank of its work-group in the launch.
  std::uint32_t groups = 0;       // Work-groups in the launch.
  std::uint32_t rank = 0;         // Rank of the work-item in its group.
  std::uint32_t group_items = 0;  // Work-items in its group.
  std::uint32_t wave = 0;  // Hardware wave: a row of the syscall area. A hint, not an identity.
  std::uint32_t lane = 0;  // Lane within the wave.
  std::uint32_t wave_lanes = 0;    // Lanes per wave.
  std::uint16_t tenant = 0;        // Owner of the launch's requests: protocol::Attributes.
  std::uint64_t wave_members = 0;  // Lanes of this wave that are work-items of the launch.
  const protocol::AreaView* area = nullptr;
  KernelSite* sites = nullptr;      // An array of kernel_sites; device memory, zeroed at launch.
  std::int64_t* scratch = nullptr;  // Two words of the group's local memory for result broadcast.
};
static_assert(sizeof(Item) == 64, "one cache line: every call looks at it");

enum class Wait : std::uint8_t { polling, halted };

// The timing of a call that begins. Two words, so that it is passed in a register.
struct CallTiming {
  std::uint32_t begun = 0;  // Stamp of its beginning; 0: the call is not timed.
  std::uint32_t flags = 0;  // protocol::flag::sampled, or none.
};

}  // namespace k2k::device::platform
