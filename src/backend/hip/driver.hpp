#pragma once
// The calls of HIP's runtime as those of a GPU's driver. HIP has no context to hold: a thread has a
// current device.
//
// Threading: as gpu::Driver.

#include <memory>

#include "backend/gpu/driver.hpp"
#include "backend/hip/library.hpp"

namespace k2k::backend::hip {

// Keeps a copy of the table.
std::unique_ptr<const gpu::Driver> drive(const Library& library, int device);

}  // namespace k2k::backend::hip
