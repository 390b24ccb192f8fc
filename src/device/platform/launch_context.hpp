#pragma once
// One launch on a GPU, as its backend passes it to every work-group: a parameter of the kernel.

#include <cstdint>

#include "device/platform/item.hpp"
#include "device/platform/shared_range.hpp"
#include "protocol/area.hpp"

namespace k2k::device::platform {

struct LaunchContext {
  protocol::AreaView area;
  KernelSite* sites = nullptr;            // Device memory, zeroed.
  const SharedRange* ranges = nullptr;    // Device memory.
  const std::uint32_t* cancel = nullptr;  // Host-visible; 1: work-items must leave.
  std::uint32_t range_count = 0;
  std::uint32_t registered_count = 0;  // Of `ranges`, behind those: registered memory.
  std::uint16_t tenant = 0;
  // 31 bits, different for each launch of any runtime: distinguishes values that an earlier launch
  // left in local memory from values of this launch.
  std::uint32_t launch = 0;
};

}  // namespace k2k::device::platform
