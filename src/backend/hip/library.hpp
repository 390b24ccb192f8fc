#pragma once
// HIP's runtime, loaded on demand: libamdhip64 is loaded by name, so that a program with this
// backend starts on a machine without it, and reports that it is missing. The functions and numbers
// are declared by the names of HIP's public documentation, without its header;
// `./dev check --only hip` compares them with that header.
//
// Threading: load() from any thread, then constant.

#include <cstddef>
#include <string>

#include "backend/gpu/driver.hpp"
#include "base/result.hpp"

namespace k2k::backend::hip {

using gpu::Code;
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned host_portable = 0x1;
inline constexpr unsigned host_mapped = 0x2;
inline constexpr unsigned host_coherent = 0x40000000;
inline constexpr unsigned attach_global = 0x1;
inline constexpr int memcpy_default = 4;

// hipDeviceAttribute_t, of HIP 5, 6 and 7.
enum class Attribute : int {
  clock_rate = 5,
  concurrent_managed_access = 9,
  cooperative_launch = 10,
  host_native_atomics = 15,
  integrated = 16,
  capability_major = 23,
  items_per_unit = 57,
  capability_minor = 61,
  compute_units = 63,
  pageable_access = 65,
  pageable_access_by_host_tables = 66,
  local_bytes = 74,
  wave_lanes = 87,
  large_bar = 10011,
};

// The entry points in use: member, name, parameters.
// clang-format off
#define K2K_HIP_ENTRIES(entry)                                                                    \
  entry(init, hipInit, (unsigned flags))                                                          \
  entry(version, hipRuntimeGetVersion, (int* version))                                            \
  entry(device_count, hipGetDeviceCount, (int* count))                                            \
  entry(device_name, hipDeviceGetName, (char* name, int bytes, int device))                       \
  entry(device_attribute, hipDeviceGetAttribute, (int* value, Attribute which, int device))       \
  entry(device_memory, hipDeviceTotalMem, (std::size_t* bytes, int device))                       \
  entry(get_device, hipGetDevice, (int* device))                                                  \
  entry(set_device, hipSetDevice, (int device))                                                   \
  entry(synchronize, hipDeviceSynchronize, ())                                                    \
  entry(allocate, hipMalloc, (void** memory, std::size_t bytes))                                  \
  entry(free, hipFree, (void* memory))                                                            \
  entry(pin, hipHostMalloc, (void** memory, std::size_t bytes, unsigned flags))                   \
  entry(unpin, hipHostFree, (void* memory))                                                       \
  entry(managed, hipMallocManaged, (void** memory, std::size_t bytes, unsigned flags))            \
  entry(device_address, hipHostGetDevicePointer, (void** address, void* memory, unsigned flags))  \
  entry(stream_create, hipStreamCreateWithFlags, (void** stream, unsigned flags))                 \
  entry(stream_destroy, hipStreamDestroy, (void* stream))                                         \
  entry(stream_query, hipStreamQuery, (void* stream))                                             \
  entry(set_bytes, hipMemsetD8Async,                                                              \
        (void* memory, unsigned char value, std::size_t bytes, void* stream))                     \
  entry(copy, hipMemcpyAsync,                                                                     \
        (void* to, const void* from, std::size_t bytes, int kind, void* stream))                  \
  entry(module_load, hipModuleLoadData, (void** module, const void* image))                       \
  entry(module_unload, hipModuleUnload, (void* module))                                           \
  entry(module_function, hipModuleGetFunction, (void** function, void* module, const char* name)) \
  entry(launch, hipModuleLaunchKernel, (void* function, unsigned groups_x, unsigned groups_y,     \
          unsigned groups_z, unsigned items_x, unsigned items_y, unsigned items_z,                \
          unsigned local_bytes, void* stream, void** parameters, void** extra))
// clang-format on

struct Library {
  const char* (*error_name)(Code code) = nullptr;    // hipGetErrorName
  const char* (*error_string)(Code code) = nullptr;  // hipGetErrorString
#define K2K_HIP_MEMBER(member, name, parameters) Code(*member) parameters = nullptr;
  K2K_HIP_ENTRIES(K2K_HIP_MEMBER)
#undef K2K_HIP_MEMBER

  // Initialised. An empty name: libamdhip64 of ROCm 7 or 6. The library stays loaded. Errors:
  // ENODEV, with the reason.
  static Result<Library> load(const std::string& name);

  [[nodiscard]] std::string words(Code code) const;
};

// Errors: ENODEV, with the reason and the remedy.
Error no_hip(const std::string& why, const std::string& remedy);

// "6.2", from hipRuntimeGetVersion().
std::string version_text(int version);

}  // namespace k2k::backend::hip
