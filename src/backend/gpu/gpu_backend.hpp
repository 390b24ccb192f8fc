#pragma once
// A GPU as a Backend, by the calls of its driver: the common part of the backends for CUDA and HIP
// (docs/design/cuda-backend.md).

#include <memory>

#include "backend/backend.hpp"
#include "backend/gpu/driver.hpp"

namespace k2k::backend::gpu {

// Takes the device that `driver` is for and `info` describes (area_bytes is filled in), and loads
// every kernel of this program onto it. Of the configuration it uses device.rings, ring_entries and
// arena_blocks, which the caller has checked. Errors:
//   ENOMEM  no pinned or device memory
//   EIO     the driver refused a call; the message contains its text
Result<std::unique_ptr<Backend>> create(std::unique_ptr<const Driver> driver, DeviceInfo info,
                                        const DeviceConfig& config);

}  // namespace k2k::backend::gpu
