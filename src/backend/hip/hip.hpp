#pragma once
// The HIP backend: AMD GPUs with waves of 64 lanes (docs/design/cuda-backend.md, "HIP"). Tested
// against a runtime of the tests' own, NEVER RUN ON A DEVICE.

#include <memory>
#include <string>

#include "backend/backend.hpp"

namespace k2k::backend::hip {

// Takes the first device that the runtime shows (HIP_VISIBLE_DEVICES selects) and loads every
// kernel of this program onto it. Of the configuration it uses device.rings, ring_entries and
// arena_blocks; the hardware determines the rest. Errors:
//   ENODEV  no runtime, no device, or one that is too old; the message names the remedy
//   EINVAL  a value and the permitted range
//   ENOMEM  no pinned or device memory
//   EIO     the runtime refused a call; the message contains its text
Result<std::unique_ptr<Backend>> create(const DeviceConfig& config);
// The same by the library of that name; "": ROCm's.
Result<std::unique_ptr<Backend>> create_by(const std::string& library, const DeviceConfig& config);

}  // namespace k2k::backend::hip
