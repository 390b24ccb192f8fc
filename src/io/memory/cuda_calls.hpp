#pragma once
// The functions of CUDA's driver API that io/ uses, by the names and numbers of its public
// documentation, because neither the toolkit nor a driver is needed at compile time. `./dev check
// --only cuda` compares every line with NVIDIA's own header.
//
// Threading: load() from anywhere, then constant.

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace k2k::io::cuda {

using Code = int;                    // CUresult
using Device = int;                  // CUdevice
using Handle = void*;                // CUcontext, CUstream, CUevent
using Address = unsigned long long;  // CUdeviceptr

inline constexpr Code success = 0;
inline constexpr Code invalid_value = 1;
inline constexpr Code out_of_memory = 2;
inline constexpr Code not_initialized = 3;
inline constexpr Code deinitialized = 4;
inline constexpr Code no_device = 100;
inline constexpr Code not_ready = 600;
inline constexpr Code illegal_address = 700;
inline constexpr unsigned host_alloc_portable = 1;
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_disable_timing = 2;

// entry(member, name in the library, arguments...). Names include the version that <cuda.h>
// selects.
// clang-format off
#define K2K_IO_CUDA_ENTRIES(entry)                                                  \
  entry(init, "cuInit", unsigned)                                                   \
  entry(error_name, "cuGetErrorName", Code, const char**)                           \
  entry(error_string, "cuGetErrorString", Code, const char**)                       \
  entry(device_count, "cuDeviceGetCount", int*)                                     \
  entry(device_get, "cuDeviceGet", Device*, int)                                    \
  entry(context_retain, "cuDevicePrimaryCtxRetain", Handle*, Device)                \
  entry(context_release, "cuDevicePrimaryCtxRelease_v2", Device)                    \
  entry(context_push, "cuCtxPushCurrent_v2", Handle)                                \
  entry(context_pop, "cuCtxPopCurrent_v2", Handle*)                                 \
  entry(context_set, "cuCtxSetCurrent", Handle)                                     \
  entry(host_alloc, "cuMemHostAlloc", void**, std::size_t, unsigned)                \
  entry(host_free, "cuMemFreeHost", void*)                                          \
  entry(device_alloc, "cuMemAlloc_v2", Address*, std::size_t)                       \
  entry(device_free, "cuMemFree_v2", Address)                                       \
  entry(copy_in, "cuMemcpyHtoDAsync_v2", Address, const void*, std::size_t, Handle) \
  entry(copy_out, "cuMemcpyDtoHAsync_v2", void*, Address, std::size_t, Handle)      \
  entry(stream_create, "cuStreamCreate", Handle*, unsigned)                         \
  entry(stream_destroy, "cuStreamDestroy_v2", Handle)                               \
  entry(stream_synchronize, "cuStreamSynchronize", Handle)                          \
  entry(stream_query, "cuStreamQuery", Handle)                                      \
  entry(event_create, "cuEventCreate", Handle*, unsigned)                           \
  entry(event_destroy, "cuEventDestroy_v2", Handle)                                 \
  entry(event_record, "cuEventRecord", Handle, Handle)                              \
  entry(event_query, "cuEventQuery", Handle)
// clang-format on

struct Calls {
#define K2K_IO_CUDA_MEMBER(member, name, ...) Code (*member)(__VA_ARGS__) = nullptr;
  K2K_IO_CUDA_ENTRIES(K2K_IO_CUDA_MEMBER)
#undef K2K_IO_CUDA_MEMBER

  const char* memory = "cuda";  // DeviceMemory::name()
  const char* vendor = "CUDA";  // For messages.
  const char* tool = "nvidia-smi";

  // Initialised, with a device. Errors: ENODEV, with the reason and the remedy. The library stays
  // loaded.
  static Result<Calls> load(const std::string& library);

  [[nodiscard]] std::string words(Code code) const;
};

// The errno of a failure.
int errno_of(Code code);

}  // namespace k2k::io::cuda
