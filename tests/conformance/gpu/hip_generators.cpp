// Makes device code of every generator of requests, for a compiler check without a backend that
// would launch them: ./dev check --only hip.

#include "device/platform/platform.hpp"
#include "labs/interference/generators/bpt_kernel.hpp"
#include "labs/interference/generators/files_kernel.hpp"
#include "labs/interference/generators/graph_kernels.hpp"
#include "labs/interference/generators/heap_kernel.hpp"
#include "labs/interference/generators/pages_kernel.hpp"
#include "labs/interference/generators/signals_kernel.hpp"
#include "labs/interference/generators/spmv_kernel.hpp"
#include "labs/interference/generators/ubench_kernel.hpp"
#include "labs/interference/generators/xsbench_kernel.hpp"

namespace k2k::device::platform {

using namespace k2k::labs::generators;

template __global__ void run_kernel(const LaunchContext, const UbenchKernel);
template __global__ void run_kernel(const LaunchContext, const BptKernel);
template __global__ void run_kernel(const LaunchContext, const XsbenchKernel);
template __global__ void run_kernel(const LaunchContext, const BfsKernel);
template __global__ void run_kernel(const LaunchContext, const SsspSnapshotKernel);
template __global__ void run_kernel(const LaunchContext, const SsspKernel);
template __global__ void run_kernel(const LaunchContext, const SpmvKernel);
template __global__ void run_kernel(const LaunchContext, const HeapKernel);
template __global__ void run_kernel(const LaunchContext, const PagesKernel);
template __global__ void run_kernel(const LaunchContext, const SignalsKernel);
template __global__ void run_kernel(const LaunchContext, const FilesKernel);

}  // namespace k2k::device::platform
