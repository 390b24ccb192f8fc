#pragma once
// Starts the kernel of XSBench. It is separate from the host's files, as every kernel.

#include "apps/xsbench/lookup.hpp"
#include "k2k/runtime.hpp"

namespace k2k::xsbench {

namespace on_cpu {
Result<LaunchReport> launch_lookup(Runtime& runtime, const LaunchShape& shape,
                                   const Lookup& lookup);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_lookup(Runtime& runtime, const LaunchShape& shape,
                                                 const Lookup& lookup);
}

// Errors: as Runtime::launch().
inline Result<LaunchReport> launch_lookup(Runtime& runtime, const LaunchShape& shape,
                                          const Lookup& lookup) {
  if (on_gpu::launch_lookup != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch_lookup(runtime, shape, lookup);
  }
  return on_cpu::launch_lookup(runtime, shape, lookup);
}

}  // namespace k2k::xsbench
