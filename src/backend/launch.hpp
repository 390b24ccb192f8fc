#pragma once
// A launch and its device, for code that launches and needs no backend.
//
// Threading: values.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace k2k::backend {

struct LaunchShape {
  std::uint32_t groups = 1;       // Work-groups; at least 1.
  std::uint32_t group_items = 1;  // Work-items per group; 1 to DeviceInfo::group_items_max.
  std::uint16_t tenant = 0;       // Owner of its calls; below protocol::tenants_max.
};

// A property of a device for display, as text: {"unified addressing", "yes"}.
struct Capability {
  std::string name;
  std::string value;
};

class KernelMemory;

struct DeviceInfo {
  std::string name;
  std::string platform = "cpu";  // The kernels that it runs: KernelImage::platform.
  std::uint32_t compute_units = 0;
  std::uint32_t wave_lanes = 0;
  std::uint32_t resident_waves = 0;  // Of all units together: rows of the syscall area.
  std::uint32_t group_items_max = 0;
  std::size_t local_bytes_max = 0;  // Local memory a work-group may use.
  std::size_t area_bytes = 0;       // Slots, rings and arena.
  bool halts = false;               // Does a halted wave give up its processor?
  bool hides_memory = true;         // May host_may_access() return false?
  bool interrupts = true;           // Does a doorbell end wait_doorbell()?
  bool serves_inline = false;       // Does Backend::serve_inline() have an effect?
  bool runs_kernels = true;         // If not, launch() takes another input (trace/trace.hpp).
  // Can the device address memory of a host's mmap(2)? If not, mmap from a kernel answers ENOTSUP.
  bool reaches_host_pages = true;
  // If not: does it fault on memory that its driver manages, while the host uses that, too?
  bool faults_on_managed = false;
  std::vector<Capability> capabilities;
  // Knows the memory of its kernels (given_memory.hpp). Null: the device cannot tell.
  const KernelMemory* kernel_memory = nullptr;
};

// The result of a finished launch.
struct LaunchReport {
  Nanoseconds elapsed{};
  std::uint64_t fibre_switches = 0;      // cpu backend.
  std::uint32_t unredeemed_tickets = 0;  // Async calls with tickets that were not redeemed.
};

}  // namespace k2k::backend
