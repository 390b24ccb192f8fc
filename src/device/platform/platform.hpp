#pragma once
// Chooses the platform a kernel is compiled for.

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#error "the GPU platforms are not in this release: build kernels for the cpu backend"
#else
#include "device/platform/cpu.hpp"
#endif
