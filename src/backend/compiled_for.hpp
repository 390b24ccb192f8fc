#pragma once
// Makes a KernelImage with the current compiler: g++ and clang++ for the cpu backend, nvcc and
// hipcc for their GPUs.
//
// Several compilers may compile one source, and one program may link all results: the types OnCpu
// and OnGpu separate the instances of Runtime::launch().
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
// The namespace for functions that launch kernels, in programs that have them compiled for both.
#define K2K_ON on_cpu
#endif
