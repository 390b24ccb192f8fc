#pragma once
// Starts the kernel of graph500. It is separate from the host's files, as every kernel.

#include "apps/graph500/step.hpp"
#include "k2k/runtime.hpp"

namespace k2k::graph500 {

namespace on_cpu {
Result<LaunchReport> launch_step(Runtime& runtime, const LaunchShape& shape, Work work,
                                 const Job& job);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_step(Runtime& runtime, const LaunchShape& shape,
                                               Work work, const Job& job);
}

// Errors: as Runtime::launch().
inline Result<LaunchReport> launch_step(Runtime& runtime, const LaunchShape& shape, Work work,
                                        const Job& job) {
  if (on_gpu::launch_step != nullptr && runtime.device().platform != "cpu")
    return on_gpu::launch_step(runtime, shape, work, job);
  return on_cpu::launch_step(runtime, shape, work, job);
}

}  // namespace k2k::graph500
