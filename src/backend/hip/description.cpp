#include "backend/hip/description.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace k2k::backend::hip {

namespace {

constexpr std::uint32_t wave_lanes = 64;         // hip.hpp: the kernels are compiled for it.
constexpr std::uint32_t group_items_max = 1024;  // gpu.hpp: group_items_limit.

struct Noted {
  const char* name;
  Attribute which;
};
constexpr Noted noted[] = {
    {"pageable memory access", Attribute::pageable_access},
    {"pageable memory through the host's page tables", Attribute::pageable_access_by_host_tables},
    {"concurrent managed access", Attribute::concurrent_managed_access},
    {"host atomics are native", Attribute::host_native_atomics},
    {"cooperative launch", Attribute::cooperative_launch},
    {"large BAR", Attribute::large_bar},
    {"integrated", Attribute::integrated},
};

}  // namespace

Result<DeviceInfo> describe(const Library& library, int device) {
  // 0 if the runtime does not know it.
  const auto attribute = [&](Attribute which) {
    int value = 0;
    if (library.device_attribute(&value, which, device) != gpu::success) value = 0;
    return static_cast<std::uint32_t>(value);
  };
  char name[256] = {};
  if (const Code code = library.device_name(name, sizeof(name) - 1, device); code != gpu::success) {
    return no_hip("hipDeviceGetName: " + library.words(code), "see rocminfo and dmesg");
  }
  DeviceInfo info;
  info.name = name[0] == '\0' ? "AMD GPU" : name;
  const std::uint32_t lanes = attribute(Attribute::wave_lanes);
  if (lanes != wave_lanes) {
    return no_hip(info.name + " has waves of " + std::to_string(lanes) +
                      " lanes, kernels are compiled for 64",
                  "choose another device with HIP_VISIBLE_DEVICES");
  }
  info.platform = "hip";
  info.compute_units = attribute(Attribute::compute_units);
  info.wave_lanes = lanes;
  info.resident_waves = info.compute_units * (attribute(Attribute::items_per_unit) / lanes);
  if (info.resident_waves == 0) {
    return no_hip("the HIP runtime does not say how many waves fit onto " + info.name,
                  "see rocminfo");
  }
  info.group_items_max = group_items_max;
  info.local_bytes_max = attribute(Attribute::local_bytes);
  info.halts = false;
  info.hides_memory = true;
  info.interrupts = false;
  info.reaches_host_pages = attribute(Attribute::pageable_access) != 0;
  info.faults_on_managed = attribute(Attribute::concurrent_managed_access) != 0;
  int version = 0;
  std::size_t bytes = 0;
  if (library.version(&version) != gpu::success) version = 0;
  if (library.device_memory(&bytes, device) != gpu::success) bytes = 0;
  info.capabilities = {
      {"compute capability", std::to_string(attribute(Attribute::capability_major)) + "." +
                                 std::to_string(attribute(Attribute::capability_minor))},
      {"HIP runtime", version_text(version)},
      {"device memory (bytes)", std::to_string(bytes)},
      {"clock (kHz)", std::to_string(attribute(Attribute::clock_rate))}};
  for (const Noted& each : noted) {
    info.capabilities.push_back({each.name, attribute(each.which) != 0 ? "yes" : "no"});
  }
  return info;
}

}  // namespace k2k::backend::hip
