#pragma once
// A kernel as the runtime hands it to a backend, and how the compiler at hand makes one.
//
//   g++, clang++   entry: a function of this program, called once a work-item
//   nvcc           device: a kernel in device code, found by the program that contains it
//
// One source may be compiled by both, and both linked into one program: the types below keep the
// instances of Runtime::launch() apart.
//
// Threading: values; device kernels are registered before main() or by dlopen().

#include <cstddef>
#include <cstdint>

#include "base/api.hpp"
#include "protocol/area.hpp"

namespace k2k::backend {

// A kernel compiled for a GPU. Registers itself, so that a backend can load all of them before the
// first runs: loading one while another waits for the host may wait for its end. Never goes away.
struct DeviceKernel {
  // The driver's handle, or nullptr and why not. Needs the device's context; on any thread.
  using Load = void* (*)(const char** why);

  K2K_API DeviceKernel(const char* platform, Load load) noexcept;
  DeviceKernel(const DeviceKernel&) = delete;
  DeviceKernel& operator=(const DeviceKernel&) = delete;

  const char* const platform;
  const Load load;
  const DeviceKernel* next;
};

// The last one registered, or nullptr.
const DeviceKernel* device_kernels() noexcept;

// The closure outlives the launch.
struct KernelImage {
  void (*entry)(const void* closure) = nullptr;  // cpu
  const DeviceKernel* device = nullptr;          // The others.
  const void* closure = nullptr;
  const char* name = "kernel";
  const char* platform = "cpu";
  std::uint32_t protocol_version = protocol::version;
  std::uint64_t layout_hash = protocol::layout_hash;
};

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
#include "backend/gpu_image.hpp"
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
