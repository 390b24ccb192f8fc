#pragma once
// Memory of a HIP device (hipMalloc() and related functions) behind the interface of
// device_memory.hpp, as cuda_memory.hpp for CUDA.
//
// UNVERIFIED ON HARDWARE, and its declarations were compared with no header.
//
// Threading: as device_memory.hpp. A child of fork() must not touch it.

#include <memory>
#include <string>

#include "io/memory/device_memory.hpp"

namespace k2k::io {

// The memory must outlive its queues. An empty name: ROCm's. Errors: ENODEV, no runtime, no working
// runtime, or no such device. EIO: the runtime's message.
Result<std::unique_ptr<DeviceMemory>> make_hip_memory(int device = 0,
                                                      const std::string& library = "");

// Memory of the device itself, for tests; freed with the last pointer. Errors: ENOMEM, not enough
// is free.
Result<std::shared_ptr<std::byte>> allocate_hip(std::size_t bytes, int device = 0,
                                                const std::string& library = "");

}  // namespace k2k::io
