#pragma once
// A kernel as the runtime passes it to a backend. backend/compiled_for.hpp makes one.
//
//   entry    cpu: a function of this program, called once per work-item
//   device   GPUs: a kernel in device code, found by the program that contains it
//
// Threading: values; device kernels are registered before main() or by dlopen().

#include <cstddef>
#include <cstdint>

#include "base/api.hpp"
#include "protocol/layout.hpp"

namespace k2k::backend {

// A kernel compiled for a GPU. It registers itself, so that a backend can load all kernels before
// the first one runs: loading one while another waits for the host may wait for its end. Never
// destroyed.
struct DeviceKernel {
  // The driver's handle, or nullptr with the reason in *why. Needs the device's context; on any
  // thread.
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

// The closure must outlive the launch.
struct KernelImage {
  void (*entry)(const void* closure) = nullptr;  // cpu
  const DeviceKernel* device = nullptr;          // GPUs.
  const void* closure = nullptr;
  const char* name = "kernel";
  const char* platform = "cpu";
  std::uint32_t protocol_version = protocol::version;
  std::uint64_t layout_hash = protocol::layout_hash;
};

}  // namespace k2k::backend
