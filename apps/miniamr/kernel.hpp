#pragma once
// Starts the kernel of miniAMR. It is separate from the host's files, as every kernel.

#include "apps/miniamr/step.hpp"
#include "k2k/runtime.hpp"

namespace k2k::miniamr {

namespace on_cpu {
Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape, const Job& job);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape,
                                                const Job& job);
}

// Expects one work-group. Errors: as Runtime::launch().
inline Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape,
                                         const Job& job) {
  if (on_gpu::launch_steps != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch_steps(runtime, shape, job);
  }
  return on_cpu::launch_steps(runtime, shape, job);
}

}  // namespace k2k::miniamr
