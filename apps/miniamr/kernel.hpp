#pragma once
// Starts the kernel of miniAMR. It is separate from the host's files, as every kernel.

#include "apps/miniamr/step.hpp"
#include "k2k/runtime.hpp"

namespace k2k::miniamr {

namespace on_cpu {
Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape, const Job& job);
}
#if defined(K2K_HAS_CUDA)
namespace on_gpu {
Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape, const Job& job);
}
#endif

// Expects one work-group. Errors: as Runtime::launch().
inline Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape,
                                         const Job& job) {
#if defined(K2K_HAS_CUDA)
  if (runtime.device().platform != "cpu") return on_gpu::launch_steps(runtime, shape, job);
#endif
  return on_cpu::launch_steps(runtime, shape, job);
}

}  // namespace k2k::miniamr
