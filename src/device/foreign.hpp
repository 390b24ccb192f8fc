#pragma once
// For kernels that another library launches: everything of k2k.hpp but kernel scope, and begin().
//
//   extern "C" __global__ void kernel(unsigned long long context, char* buffer) {
//     k2k::begin(context);
//     const int fd = k2k::open(k2k::work_item, "/etc/hostname", 0).fd();
//     ...
//
// The context is that of k2k_serve_context(), in Python k2k.serve(). Blocks and grids may have up
// to three dimensions: ranks are counted along x first. Only where this header comes before
// device/k2k.hpp. Other compilers than nvcc and NVRTC see k2k.hpp alone.

#if defined(K2K_FOREIGN_KERNELS)
#error "<k2k/foreign.hpp> defines K2K_FOREIGN_KERNELS itself: remove the definition"
#endif
#define K2K_FOREIGN_KERNELS 1

#include "device/k2k.hpp"
#include "device/platform/foreign_context.hpp"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

namespace k2k {

// Every work-item of the group calls it, before any other function of K2K. Traps if this code was
// compiled from headers that do not suit the library which wrote the context.
K2K_DEVICE inline void begin(std::uint64_t context) {
  device::platform::begin_foreign(*reinterpret_cast<device::platform::ForeignContext*>(context));
}

}  // namespace k2k

#endif
