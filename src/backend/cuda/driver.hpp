#pragma once
// The CUDA driver, loaded on demand: libcuda.so.1 is loaded by name, so that a program with this
// backend starts on a machine without a driver, and reports that it is missing.
//
// Every call goes through `call`, which turns a failure into an Error with the driver's text.
//
// Threading: load() from any thread, then constant. Calls need the context to be current: Current.

#include <cuda.h>

#include <string>

#include "base/result.hpp"

namespace k2k::backend::cuda {

// The entry points in use. <cuda.h> adds a version to some names by macros; the macros apply here
// to both the look-up and the calls.
#define K2K_CUDA_ENTRIES(entry)                                                                 \
  entry(cuCtxSynchronize) entry(cuInit) entry(cuDriverGetVersion) entry(cuGetErrorName)         \
      entry(cuGetErrorString) entry(cuDeviceGetCount) entry(cuDeviceGet) entry(cuDeviceGetName) \
          entry(cuDeviceGetAttribute) entry(cuDeviceTotalMem) entry(cuDevicePrimaryCtxRetain)   \
              entry(cuDevicePrimaryCtxRelease) entry(cuCtxPushCurrent) entry(cuCtxPopCurrent)   \
                  entry(cuMemAlloc) entry(cuMemFree) entry(cuMemHostAlloc) entry(cuMemFreeHost) \
                      entry(cuMemsetD8Async) entry(cuMemcpyAsync) entry(cuStreamCreate)         \
                          entry(cuStreamDestroy) entry(cuStreamQuery) entry(cuFuncGetAttribute) \
                              entry(cuFuncLoad) entry(cuLaunchKernel)

struct Driver {
#define K2K_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  K2K_CUDA_ENTRIES(K2K_CUDA_MEMBER)
#undef K2K_CUDA_MEMBER

  // Initialised. Errors: ENODEV, with the reason.
  static Result<const Driver*> load();

  // `what` completes "could not ...". Code: ENOMEM for memory, else EIO.
  [[nodiscard]] Status call(CUresult result, const std::string& what) const;
  [[nodiscard]] std::string words(CUresult result) const;
};

// Makes a context current in the calling thread during this object's life.
class Current {
 public:
  Current(const Driver& driver, CUcontext context) : driver_(driver) {
    pushed_ = driver_.cuCtxPushCurrent(context) == CUDA_SUCCESS;
  }
  ~Current() {
    CUcontext popped = nullptr;
    if (pushed_) driver_.cuCtxPopCurrent(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

}  // namespace k2k::backend::cuda
