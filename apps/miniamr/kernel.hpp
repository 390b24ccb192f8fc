#pragma once
// Starts the kernel of miniAMR. It is separate from the host's files, as every kernel.

#include "apps/miniamr/step.hpp"
#include "k2k/runtime.hpp"

namespace k2k::miniamr {

// Who makes the system calls of the kernel.
enum class Calls : std::uint8_t {
  wrapped,  // K2K.
  direct,   // libc, on the kernel's own thread: the cpu backend alone.
};

namespace on_cpu {
Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape, Calls calls,
                                  const Job& job);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape,
                                                Calls calls, const Job& job);
}

// Expects one work-group. Errors: as Runtime::launch(); ENOTSUP (direct calls on another device
// than the host's cores).
inline Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape, Calls calls,
                                         const Job& job) {
  if (on_gpu::launch_steps != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch_steps(runtime, shape, calls, job);
  }
  return on_cpu::launch_steps(runtime, shape, calls, job);
}

}  // namespace k2k::miniamr
