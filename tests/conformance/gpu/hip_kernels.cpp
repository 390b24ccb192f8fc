// Makes device code of every portable kernel, for a compiler check without a backend that would
// launch them: ./dev check --only hip.

#include "device/platform/platform.hpp"
#include "tests/conformance/portable_kernels.hpp"

namespace k2k::device::platform {

template __global__ void run_kernel(const LaunchContext, const conformance::OwnAnswerKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::GroupCallKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::StrongWriteKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::RelaxedWriteKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::RelaxedReadKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::MixedCallsKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::LocalMemoryKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::WaveKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::LastGroupKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::FirstGroupKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::SiteKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::WaveWideKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::HaltingKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::TicketKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::UnredeemedKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::DetachedKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::StackKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::PiecesKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::InPlaceKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::RefusedKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::MapKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::StuckKernel);
template __global__ void run_kernel(const LaunchContext, const conformance::HandOverKernel);
template __global__ void run_kernel(const LaunchContext,
                                    const conformance::AtomicsKernel<std::uint32_t>);
template __global__ void run_kernel(const LaunchContext,
                                    const conformance::AtomicsKernel<std::int32_t>);
template __global__ void run_kernel(const LaunchContext,
                                    const conformance::AtomicsKernel<std::uint64_t>);
template __global__ void run_kernel(const LaunchContext,
                                    const conformance::AtomicsKernel<std::int64_t>);

}  // namespace k2k::device::platform
