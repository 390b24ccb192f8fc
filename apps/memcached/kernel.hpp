#pragma once
// Starts the kernels of the server. It is separate from the host's files, because a kernel includes
// functions named recvfrom and sendto.

#include "apps/memcached/job.hpp"
#include "k2k/runtime.hpp"

namespace k2k::memcached {

enum class Pieces : std::uint8_t {
  whole,   // The kernel makes its calls by K2K and ends when the host asks for it.
  direct,  // The same with calls of libc on the kernel's own thread: the cpu backend alone.
  split,   // One launch is one piece; the host makes the calls between two pieces.
};

namespace on_cpu {
Result<LaunchReport> launch_serve(Runtime& runtime, const LaunchShape& shape, Pieces pieces,
                                  const Job& job);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_serve(Runtime& runtime, const LaunchShape& shape,
                                                Pieces pieces, const Job& job);
}

// Errors: as Runtime::launch(); ENOTSUP (direct calls on another device than the host's cores).
inline Result<LaunchReport> launch_serve(Runtime& runtime, const LaunchShape& shape, Pieces pieces,
                                         const Job& job) {
  if (on_gpu::launch_serve != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch_serve(runtime, shape, pieces, job);
  }
  return on_cpu::launch_serve(runtime, shape, pieces, job);
}

}  // namespace k2k::memcached
