#pragma once
// The CUDA backend: NVIDIA GPUs of compute capability 7.0 and later (docs/design/cuda-backend.md).

#include <memory>

#include "backend/backend.hpp"

namespace k2k::backend::cuda {

// Takes the first device the driver shows (CUDA_VISIBLE_DEVICES chooses) and loads every kernel of
// this program onto it. Of the configuration it heeds device.rings, ring_entries and arena_blocks;
// the rest the hardware decides. Errors:
//   ENODEV  no driver, no device, or one that is too old; the message names the fix
//   EINVAL  a value and the permitted range
//   ENOMEM  no pinned or device memory
//   EIO     the driver refused something; the message carries its words
Result<std::unique_ptr<Backend>> create(const DeviceConfig& config);

}  // namespace k2k::backend::cuda
