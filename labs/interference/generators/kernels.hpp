#pragma once
// Starts the kernels of the generators. It is separate from the host's files, as every kernel.
//
// Threading: as Runtime::launch().

#include <variant>

#include "apps/bpt/search.hpp"
#include "apps/xsbench/lookup.hpp"
#include "k2k/runtime.hpp"
#include "labs/interference/generators/files_kernel.hpp"
#include "labs/interference/generators/graph_kernels.hpp"
#include "labs/interference/generators/heap_kernel.hpp"
#include "labs/interference/generators/pages_kernel.hpp"
#include "labs/interference/generators/signals_kernel.hpp"
#include "labs/interference/generators/spmv_kernel.hpp"
#include "labs/interference/generators/ubench_kernel.hpp"

namespace k2k::labs::generators {

using Kernel = std::variant<UbenchKernel, bpt::Search, xsbench::Lookup, BfsKernel, SpmvKernel,
                            SsspSnapshotKernel, SsspKernel, HeapKernel, PagesKernel, SignalsKernel,
                            FilesKernel>;

namespace on_cpu {
Result<LaunchReport> launch_kernel(Runtime& runtime, const LaunchShape& shape, const Kernel& kernel,
                                   const char* name);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_kernel(Runtime& runtime, const LaunchShape& shape,
                                                 const Kernel& kernel, const char* name);
}

// Errors: as Runtime::launch().
inline Status launch_kernel(Runtime& runtime, const LaunchShape& shape, const Kernel& kernel,
                            const char* name) {
  const bool on_gpu = on_gpu::launch_kernel != nullptr && runtime.device().platform != "cpu";
  const auto report = on_gpu ? on_gpu::launch_kernel(runtime, shape, kernel, name)
                             : on_cpu::launch_kernel(runtime, shape, kernel, name);
  return report ? Status{} : report.error();
}

}  // namespace k2k::labs::generators
