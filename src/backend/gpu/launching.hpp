#pragma once
// What every kernel on a GPU needs before and after it runs, whoever launches it.
//
// Threading: put_in_order() by one thread, while no kernel makes calls, with the context current.

#include <cstdint>

#include "backend/gpu/memory.hpp"
#include "base/result.hpp"
#include "device/platform/launch_context.hpp"

namespace k2k::backend::gpu {

// The context of a launch, without its ranges and its tenant.
device::platform::LaunchContext launch_context(const Memory& memory);

// Cleans up after work-items: see sweep.hpp. Lock words are in device memory, so it uses the copy
// of Memory::read_locks(). Returns the number of tickets that were not redeemed. EIO.
Result<std::uint32_t> put_in_order(Memory& memory, Stream stream);

}  // namespace k2k::backend::gpu
