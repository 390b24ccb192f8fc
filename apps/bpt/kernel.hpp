#pragma once
// Starts the kernel of the B+tree. It is separate from the host's files, as every kernel.

#include "apps/bpt/search.hpp"
#include "k2k/runtime.hpp"

namespace k2k::bpt {

namespace on_cpu {
Result<LaunchReport> launch_search(Runtime& runtime, const LaunchShape& shape,
                                   const Search& search);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_search(Runtime& runtime, const LaunchShape& shape,
                                                 const Search& search);
}

// Errors: as Runtime::launch().
inline Result<LaunchReport> launch_search(Runtime& runtime, const LaunchShape& shape,
                                          const Search& search) {
  if (on_gpu::launch_search != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch_search(runtime, shape, search);
  }
  return on_cpu::launch_search(runtime, shape, search);
}

}  // namespace k2k::bpt
