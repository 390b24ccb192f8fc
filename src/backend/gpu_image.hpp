#pragma once
// Makes a KernelImage with a vendor's compiler: the kernel is an instance of the launching kernel.
// Its device code is found by CUDA's run-time library, linked into the same program, or, for HIP,
// by a library of K2K's (backend/hip/registration/).
//
// Included by compiled_for.hpp, for nvcc and hipcc; other compilers see an empty file.

#if defined(__CUDACC__) || defined(__HIP__)

#if defined(__HIP__)
#include "backend/hip/hip_kernel.hpp"
#endif
#include "backend/kernel_image.hpp"
#include "device/platform/platform.hpp"

namespace k2k::backend {

// A launch's other parameters fit together with the closure into the 4 KiB that every device
// accepts.
inline constexpr std::size_t closure_bytes_max = 3072;

template <class Kernel>
struct GpuKernel {
  static_assert(sizeof(device::platform::LaunchContext) + closure_bytes_max <= 4096);
  static_assert(
      sizeof(Kernel) <= closure_bytes_max,
      "a kernel captures at most 3,072 bytes: put the rest into Runtime::allocate_shared()");

  static void* load(const char** why) {
    const auto stub = reinterpret_cast<const void*>(&device::platform::run_kernel<Kernel>);
#if defined(__CUDACC__)
    cudaFunction_t function = nullptr;
    const cudaError_t failed = cudaGetFuncBySymbol(&function, stub);
    if (failed == cudaSuccess) return function;
    *why = cudaGetErrorString(failed);
    return nullptr;
#else
    const hip::HipKernel* const kernel = k2k_hip_kernel(stub);
    if (kernel == nullptr) *why = "its code object is not registered";
    return const_cast<hip::HipKernel*>(kernel);
#endif
  }

  static inline DeviceKernel node{device::platform::vendor::name, &load};
};

struct OnGpu {
  template <class Kernel>
  static KernelImage image(const Kernel& body, const char* name) {
    KernelImage image;
    image.device = &GpuKernel<Kernel>::node;
    image.closure = &body;
    image.name = name;
    image.platform = device::platform::vendor::name;
    return image;
  }
};

}  // namespace k2k::backend

#endif
