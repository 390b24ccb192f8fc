#pragma once
// The CUDA backend: NVIDIA GPUs of compute capability 7.0 and later (docs/design/cuda-backend.md).

#include <memory>

#include "backend/backend.hpp"

namespace k2k::backend::cuda {

// Takes the first device that the driver shows (CUDA_VISIBLE_DEVICES selects) and loads every
// kernel of this program onto it. Of the configuration it uses device.rings, ring_entries and
// arena_blocks; the hardware determines the rest. Errors:
//   ENODEV  no driver, no device, or one that is too old; the message names the remedy
//   EINVAL  a value and the permitted range
//   ENOMEM  no pinned or device memory
//   EIO     the driver refused a call; the message contains its text
Result<std::unique_ptr<Backend>> create(const DeviceConfig& config);

}  // namespace k2k::backend::cuda
