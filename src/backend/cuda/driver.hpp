#pragma once
// The CUDA driver, loaded on demand: libcuda.so.1 is loaded by name, so that a program with this
// backend starts on a machine without a driver, and reports that it is missing.
//
// Threading: load() from any thread, then constant.

#include <cuda.h>

#include <memory>
#include <string>

#include "backend/gpu/driver.hpp"
#include "base/result.hpp"

namespace k2k::backend::cuda {

// The entry points in use. <cuda.h> adds a version to some names by macros; the macros apply here
// to both the look-up and the calls.
#define K2K_CUDA_ENTRIES(entry)                                                                 \
  entry(cuCtxSynchronize) entry(cuInit) entry(cuDriverGetVersion) entry(cuGetErrorName)         \
      entry(cuGetErrorString) entry(cuDeviceGetCount) entry(cuDeviceGet) entry(cuDeviceGetName) \
          entry(cuDeviceGetAttribute) entry(cuDeviceTotalMem) entry(cuDevicePrimaryCtxRetain)   \
              entry(cuDevicePrimaryCtxRelease) entry(cuCtxPushCurrent) entry(cuCtxPopCurrent)   \
                  entry(cuMemAlloc) entry(cuMemAllocManaged) entry(cuMemFree)                   \
                      entry(cuMemHostAlloc) entry(cuMemFreeHost) entry(cuMemsetD8Async)         \
                          entry(cuMemcpyAsync) entry(cuStreamCreate) entry(cuStreamDestroy)     \
                              entry(cuStreamQuery) entry(cuFuncGetAttribute) entry(cuFuncLoad)  \
                                  entry(cuLaunchKernel)

struct Library {
#define K2K_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  K2K_CUDA_ENTRIES(K2K_CUDA_MEMBER)
#undef K2K_CUDA_MEMBER

  // Initialised. Errors: ENODEV, with the reason.
  static Result<const Library*> load();

  // `what` completes "could not ...". Code: ENOMEM for memory, else EIO.
  [[nodiscard]] Status call(CUresult result, const std::string& what) const;
  [[nodiscard]] std::string words(CUresult result) const;
};

// Errors: ENODEV, with the reason and the remedy.
Error no_cuda(const std::string& why, const std::string& remedy);

// The driver's calls in the primary context of the device, which this object holds. Errors: those
// of the driver.
Result<std::unique_ptr<const gpu::Driver>> drive(const Library& library, CUdevice device,
                                                 const std::string& name);

}  // namespace k2k::backend::cuda
