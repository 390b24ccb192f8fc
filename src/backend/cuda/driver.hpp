#pragma once
// The CUDA driver, found when it is needed: libcuda.so.1 is loaded by name, so that a program with
// this backend starts, and says what is missing, on a machine without one.
//
// Every call goes through `call`, which turns a failure into an Error with the driver's words.
//
// Threading: load() from any thread, then constant. Calls need the context to be current: Current.

#include <cuda.h>

#include <string>

#include "base/result.hpp"

namespace k2k::backend::cuda {

// The entry points that are used. <cuda.h> gives some names a version by macros: here, where they
// are looked up and where they are called alike.
#define K2K_CUDA_ENTRIES(entry)                                                                 \
  entry(cuInit) entry(cuDriverGetVersion) entry(cuGetErrorName) entry(cuGetErrorString)         \
      entry(cuDeviceGetCount) entry(cuDeviceGet) entry(cuDeviceGetName)                         \
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

  // Initialised, or why not: ENODEV.
  static Result<const Driver*> load();

  // `what` completes "could not ...". Code: ENOMEM for memory, else EIO.
  [[nodiscard]] Status call(CUresult result, const std::string& what) const;
  [[nodiscard]] std::string words(CUresult result) const;
};

// Makes a context the calling thread's for a while.
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
