#pragma once
// Starts the kernels of the server. It is separate from the host's files, because a kernel includes
// functions named recvfrom and sendto.

#include "apps/memcached/job.hpp"
#include "k2k/runtime.hpp"

namespace k2k::memcached {

enum class Pieces : std::uint8_t {
  whole,  // The kernel makes its calls by K2K and ends when the host asks for it.
  split,  // One launch is one piece; the host makes the calls between two pieces.
};

namespace on_cpu {
Result<LaunchReport> launch_serve(Runtime& runtime, const LaunchShape& shape, Pieces pieces,
                                  const Job& job);
}
#if defined(K2K_HAS_CUDA)
namespace on_gpu {
Result<LaunchReport> launch_serve(Runtime& runtime, const LaunchShape& shape, Pieces pieces,
                                  const Job& job);
}
#endif

// Errors: as Runtime::launch().
inline Result<LaunchReport> launch_serve(Runtime& runtime, const LaunchShape& shape, Pieces pieces,
                                         const Job& job) {
#if defined(K2K_HAS_CUDA)
  if (runtime.device().platform != "cpu") return on_gpu::launch_serve(runtime, shape, pieces, job);
#endif
  return on_cpu::launch_serve(runtime, shape, pieces, job);
}

}  // namespace k2k::memcached
