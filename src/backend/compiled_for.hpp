#pragma once
// How the compiler at hand makes a KernelImage: g++ and clang++ for the cpu backend, nvcc and hipcc
// for their GPUs.
//
// One source may be compiled by several, and all be linked into one program: the types OnCpu and
// OnGpu keep the instances of Runtime::launch() apart.
//
// Threading: values.

#include "backend/kernel_image.hpp"
#if defined(__CUDACC__) || defined(__HIP__)
#include "backend/gpu_image.hpp"
#endif

namespace k2k::backend {

struct OnCpu {
  template <class Kernel>
  static KernelImage image(const Kernel& body, const char* name) {
    KernelImage image;
    image.entry = [](const void* closure) { (*static_cast<const Kernel*>(closure))(); };
    image.closure = &body;
    image.name = name;
    return image;
  }
};

}  // namespace k2k::backend

#if defined(__CUDACC__) || defined(__HIP__)
namespace k2k::backend {
using CompiledFor = OnGpu;
}
namespace k2k {
constexpr const char* kernel_backend = device::platform::vendor::name;
}
#define K2K_ON on_gpu
#else
namespace k2k::backend {
using CompiledFor = OnCpu;
}
namespace k2k {
// The backend that runs the kernels of this translation unit: RuntimeConfig::backend.
constexpr const char* kernel_backend = "cpu";
}  // namespace k2k
// The namespace of functions that launch kernels, where a program has them compiled for both.
#define K2K_ON on_cpu
#endif
