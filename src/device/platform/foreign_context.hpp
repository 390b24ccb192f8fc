#pragma once
// What a kernel that another library launches (Numba, CuPy, PyTorch, cuda.core) needs in order to
// make calls: a launch context in device memory, whose address the kernel gets as an argument.
//
// K2K does not see such launches. So the context is the same for many of them, and there are no
// kernel sites: they would have to be zeroed before each launch.

#include <cstdint>

#include "device/platform/launch_context.hpp"
#include "protocol/area.hpp"
#include "protocol/layout.hpp"

namespace k2k::device::platform {

struct ForeignContext {
  std::uint64_t compiled_for = 0;  // foreign_layout of the library that wrote it.
  LaunchContext launch;
  // Groups that began so far: each has a number of its own in LaunchContext::launch.
  std::uint32_t groups_begun = 0;
};

// Differs where device code and library were compiled from headers that do not suit each other.
inline constexpr std::uint64_t foreign_layout =
    protocol::layout_hash ^ std::uint64_t{protocol::version} << 48 ^ sizeof(ForeignContext);

}  // namespace k2k::device::platform
