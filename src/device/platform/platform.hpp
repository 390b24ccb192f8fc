#pragma once
// Chooses the platform a kernel is compiled for: by the compiler, so that one source serves all.
//
// nvcc and hipcc read a source twice, for the device and for the host; both times it is theirs.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "device/platform/cuda.hpp"
#elif defined(__HIP__)
#include "device/platform/hip.hpp"
#else
#include "device/platform/cpu.hpp"
#endif
