#pragma once
// The facts of a CUDA device: its limits and capabilities, or why it cannot be used.
//
// Threading: anywhere; needs no context.

#include "backend/cuda/driver.hpp"
#include "backend/launch.hpp"
#include "base/result.hpp"

namespace k2k::backend::cuda {

// Without DeviceInfo::area_bytes, which follow from the configuration. Errors: ENODEV; those of the
// driver.
Result<DeviceInfo> describe(const Library& library, CUdevice device);

}  // namespace k2k::backend::cuda
