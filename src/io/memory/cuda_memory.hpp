#pragma once
// Memory of a CUDA device behind the seam of device_memory.hpp: pinned buffers, a stream of its own
// for each queue, an event for each buffer.
//
// It uses the device's primary context, which is also the CUDA runtime's, so addresses of
// cudaMalloc() are its own. No call waits for the device: state is asked for (cuEventQuery), which
// also keeps a device going whose kernels wait for this host. Copies behind a kernel that fills the
// device are the device's copy engines' matter; the stream does not wait for the program's.
//
// UNVERIFIED ON HARDWARE: compiled, its declarations compared with NVIDIA's header, and run against
// a driver of the tests' own.
//
// Threading: as device_memory.hpp. A child of fork() must not touch it.

#include <functional>
#include <memory>
#include <string>

#include "io/memory/device_memory.hpp"

namespace k2k::io {

// The memory outlives its queues. ENODEV: no driver, none that starts, or no such device. EIO: the
// driver's words.
Result<std::unique_ptr<DeviceMemory>> make_cuda_memory(int device = 0,
                                                       const std::string& library = "libcuda.so.1");

// Memory of the device itself, for measurements; freed with the last pointer. ENOMEM: not so much
// is free. Else as make_cuda_memory().
Result<std::shared_ptr<std::byte>> allocate_cuda(std::size_t bytes, int device = 0,
                                                 const std::string& library = "libcuda.so.1");

// For threads that call what needs a current context (cuFile): makes the device's primary context
// the calling thread's. It must be kept by a memory of that device as long as threads use it.
Result<std::function<void()>> cuda_context_setter(int device = 0,
                                                  const std::string& library = "libcuda.so.1");

}  // namespace k2k::io
