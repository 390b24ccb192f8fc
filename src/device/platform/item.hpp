#pragma once
// What every platform tells device code about the running work-item.

#include <cstddef>
#include <cstdint>

#include "protocol/area.hpp"

namespace k2k::device::platform {

// Kernel-scope calls meet at a site: a counter in device memory, one a call index and launch.
struct KernelSite {
  std::uint32_t arrived = 0;  // Groups that came so far.
  std::uint32_t done = 0;     // 1 once `value` is the result (producer calls).
  std::int64_t value = 0;
};
inline constexpr std::uint32_t kernel_sites = 64;

// Who the running work-item is. On the cpu backend one object a work-item, stable while it runs; on
// a GPU put together from registers.
struct Item {
  std::uint32_t group = 0;        // Rank of its work-group in the launch.
  std::uint32_t groups = 0;       // Work-groups in the launch.
  std::uint32_t rank = 0;         // Rank of the work-item in its group.
  std::uint32_t group_items = 0;  // Work-items in its group.
  std::uint32_t wave = 0;  // Hardware wave: a row of the syscall area. A hint, not an identity.
  std::uint32_t lane = 0;  // Lane within the wave.
  std::uint32_t wave_lanes = 0;    // Lanes a wave.
  std::uint16_t tenant = 0;        // Owner of the launch's requests: protocol::Attributes.
  std::uint64_t wave_members = 0;  // Lanes of this wave that are work-items of the launch.
  const protocol::AreaView* area = nullptr;
  KernelSite* sites = nullptr;      // kernel_sites of them; device memory, zeroed at launch.
  std::int64_t* scratch = nullptr;  // Two words of the group's local memory for result broadcast.
};
static_assert(sizeof(Item) == 64, "one cache line: every call looks at it");

enum class Wait : std::uint8_t { polling, halted };

// Of a call that begins. Two words, so that it travels in a register.
struct CallTiming {
  std::uint32_t begun = 0;  // Its stamp; 0 = its times are not taken.
  std::uint32_t flags = 0;  // protocol::flag::sampled, or none.
};

}  // namespace k2k::device::platform
