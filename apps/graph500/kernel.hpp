#pragma once
// Starts the kernel of graph500. It is separate from the host's files, as every kernel.

#include "apps/graph500/step.hpp"
#include "k2k/runtime.hpp"

namespace k2k::graph500 {

namespace on_cpu {
Result<LaunchReport> launch_step(Runtime& runtime, const LaunchShape& shape, Work work,
                                 const Job& job);
}
#if defined(K2K_HAS_CUDA)
namespace on_gpu {
Result<LaunchReport> launch_step(Runtime& runtime, const LaunchShape& shape, Work work,
                                 const Job& job);
}
#endif

// Errors: as Runtime::launch().
inline Result<LaunchReport> launch_step(Runtime& runtime, const LaunchShape& shape, Work work,
                                        const Job& job) {
#if defined(K2K_HAS_CUDA)
  if (runtime.device().platform != "cpu") return on_gpu::launch_step(runtime, shape, work, job);
#endif
  return on_cpu::launch_step(runtime, shape, work, job);
}

}  // namespace k2k::graph500
