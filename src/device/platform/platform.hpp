#pragma once
// Selects the platform for which a kernel is compiled, by the compiler, so that one source works
// for all.
//
// nvcc and hipcc compile a source twice, for the device and for the host; both passes use their
// platform.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "device/platform/cuda.hpp"
#elif defined(__HIP__)
#include "device/platform/hip.hpp"
#else
#include "device/platform/cpu.hpp"
#endif
