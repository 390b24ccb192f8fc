#pragma once
// Memory of a CUDA device, as an implementation of device_memory.hpp: pinned buffers, a stream for
// each queue, an event for each buffer.
//
// It uses the device's primary context, which is also the CUDA runtime's, so addresses of
// cudaMalloc() are valid. No call waits for the device. Calls query the state (cuEventQuery), which
// also lets a device make progress while its kernels wait for this host. The device's copy engines
// make copies even while a kernel fills the device; the stream does not wait for the program's
// streams.
//
// Verified on an H200 (docs/results/gpu.md). The tests compare its declarations with NVIDIA's
// header and run it against a driver of their own.
//
// Threading: as device_memory.hpp. A child of fork() must not touch it.

#include <functional>
#include <memory>
#include <string>

#include "io/memory/device_memory.hpp"

namespace k2k::io {

// The memory must outlive its queues. Errors: ENODEV, no driver, no working driver, or no such
// device. EIO: the driver's message.
Result<std::unique_ptr<DeviceMemory>> make_cuda_memory(int device = 0,
                                                       const std::string& library = "libcuda.so.1");

// Memory of the device itself, for measurements; freed with the last pointer. Errors: ENOMEM, not
// enough is free. Others as make_cuda_memory().
Result<std::shared_ptr<std::byte>> allocate_cuda(std::size_t bytes, int device = 0,
                                                 const std::string& library = "libcuda.so.1");

// For threads that call functions which need a current context (cuFile): makes the device's primary
// context current in the calling thread. A memory of that device must keep the context as long as
// threads use it.
Result<std::function<void()>> cuda_context_setter(int device = 0,
                                                  const std::string& library = "libcuda.so.1");

}  // namespace k2k::io
