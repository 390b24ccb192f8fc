#include "backend/cuda/description.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace k2k::backend::cuda {

namespace {

constexpr int capability_min = 70;               // Independent lanes and nanosleep.
constexpr std::uint32_t group_items_max = 1024;  // gpu.hpp: group_items_limit.
constexpr const char* another_device = "choose another device with CUDA_VISIBLE_DEVICES";

// The attributes of a device, by the driver's names.
class Attributes {
 public:
  Attributes(const Library& library, CUdevice device) : library_(library), device_(device) {}

  // 0 if the driver does not know it.
  [[nodiscard]] int operator()(CUdevice_attribute which) const {
    int value = 0;
    library_.cuDeviceGetAttribute(&value, which, device_);
    return value;
  }

 private:
  const Library& library_;
  const CUdevice device_;
};

void note(DeviceInfo& info, const Attributes& attribute, const char* name,
          CUdevice_attribute which) {
  info.capabilities.push_back({name, attribute(which) != 0 ? "yes" : "no"});
}

}  // namespace

Result<DeviceInfo> describe(const Library& library, CUdevice device) {
  const Attributes attribute(library, device);
  char name[256] = {};
  const Status named =
      library.call(library.cuDeviceGetName(name, sizeof(name) - 1, device), "name the device");
  if (!named) return named.error();
  const int major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const int minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (major * 10 + minor < capability_min) {
    return no_cuda(std::string(name) + " has compute capability " + std::to_string(major) + "." +
                       std::to_string(minor) + ", and at least 7.0 is needed",
                   another_device);
  }
  const auto units =
      static_cast<std::uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  const auto lanes = static_cast<std::uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
  const auto items =
      static_cast<std::uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
  if (lanes != 32) {
    return no_cuda(std::string(name) + " has waves of " + std::to_string(lanes) +
                       " lanes, kernels are compiled for 32",
                   another_device);
  }
  int version = 0;
  std::size_t bytes = 0;
  library.cuDriverGetVersion(&version);
  library.cuDeviceTotalMem(&bytes, device);
  DeviceInfo info;
  info.name = name;
  info.platform = "cuda";
  info.compute_units = units;
  info.wave_lanes = lanes;
  info.resident_waves = units * (items / lanes);
  info.group_items_max = group_items_max;
  info.local_bytes_max =
      static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  info.halts = false;
  info.hides_memory = true;
  info.interrupts = false;
  info.reaches_host_pages = attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0;
  info.faults_on_managed = attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0;
  info.capabilities.push_back(
      {"compute capability", std::to_string(major) + "." + std::to_string(minor)});
  info.capabilities.push_back(
      {"driver", std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10)});
  info.capabilities.push_back({"device memory (bytes)", std::to_string(bytes)});
  info.capabilities.push_back(
      {"clock (kHz)", std::to_string(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE))});
  note(info, attribute, "pageable memory access", CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
  note(info, attribute, "pageable memory through the host's page tables",
       CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
  note(info, attribute, "concurrent managed access", CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  note(info, attribute, "host atomics are native",
       CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
  note(info, attribute, "unified addressing", CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  note(info, attribute, "cooperative launch", CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  note(info, attribute, "GPUDirect RDMA", CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
  note(info, attribute, "integrated", CU_DEVICE_ATTRIBUTE_INTEGRATED);
  if (attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) == 0) {
    return no_cuda(info.name + " has no unified addressing", another_device);
  }
  return info;
}

}  // namespace k2k::backend::cuda
