#pragma once
// Makes a KernelImage with a vendor's compiler: the kernel is an instance of the launching kernel,
// and the vendor's run-time library, linked into the same program, finds its device code.
//
// Included by compiled_for.hpp, for nvcc and hipcc; other compilers see an empty file.

#if defined(__CUDACC__) || defined(__HIP__)

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

  static void* load([[maybe_unused]] const char** why) {
    const auto stub = reinterpret_cast<const void*>(&device::platform::run_kernel<Kernel>);
#if defined(__CUDACC__)
    cudaFunction_t function = nullptr;
    const cudaError_t failed = cudaGetFuncBySymbol(&function, stub);
    if (failed == cudaSuccess) return function;
    *why = cudaGetErrorString(failed);
    return nullptr;
#else
    return const_cast<void*>(stub);  // No backend for it exists yet: compiled, never run.
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
