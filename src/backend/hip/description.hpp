#pragma once
// The facts of a HIP device: its limits and capabilities, or why it cannot be used.
//
// Threading: anywhere.

#include "backend/hip/library.hpp"
#include "backend/launch.hpp"
#include "base/result.hpp"

namespace k2k::backend::hip {

// Without DeviceInfo::area_bytes, which follow from the configuration. Errors: ENODEV.
Result<DeviceInfo> describe(const Library& library, int device);

}  // namespace k2k::backend::hip
