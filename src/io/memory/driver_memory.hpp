#pragma once
// GPU memory through the calls of its driver (cuda_calls.hpp, hip_calls.hpp): pinned buffers, a
// stream for each queue, an event for each buffer. The common part of CUDA's and HIP's memory;
// other code uses those.
//
// The last copy of a stream has ended when the stream has, so it needs no event: that is recorded
// only when another copy follows. A copy alone, as a short read makes, is four calls: a push and a
// pop of the context, the copy, and a query, which is repeated until the copy has ended.
//
// No call waits for the device. Calls query the state, which also lets a device make progress while
// its kernels wait for this host.
//
// Threading: as device_memory.hpp. A child of fork() must not touch it.

#include <cstddef>
#include <functional>
#include <memory>

#include "io/memory/cuda_calls.hpp"
#include "io/memory/device_memory.hpp"

namespace k2k::io {

// Errors: of `calls`, and as the functions of cuda_memory.hpp.
Result<std::unique_ptr<DeviceMemory>> make_driver_memory(const Result<cuda::Calls>& calls,
                                                         int device);
Result<std::shared_ptr<std::byte>> allocate_by_driver(const Result<cuda::Calls>& calls,
                                                      std::size_t bytes, int device);
Result<std::function<void()>> driver_context_setter(const Result<cuda::Calls>& calls, int device);

}  // namespace k2k::io
