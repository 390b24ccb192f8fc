#pragma once
// Starts the kernels of wordcount. It is separate from the host's files, because a kernel includes
// functions named open and close.

#include "apps/wordcount/job.hpp"
#include "k2k/runtime.hpp"

namespace k2k::wordcount {

// Who makes the system calls of a kernel.
enum class Calls : std::uint8_t {
  wrapped,  // The kernel, by K2K.
  direct,   // The kernel, by libc on its own thread: the cpu backend alone. The floor.
  split,    // The host, between two pieces of the kernel: one launch is one piece.
};

namespace on_cpu {
Result<LaunchReport> launch_count(Runtime& runtime, const LaunchShape& shape, Calls calls,
                                  const Job& job);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_count(Runtime& runtime, const LaunchShape& shape,
                                                Calls calls, const Job& job);
}

// Errors: as Runtime::launch(); ENOTSUP (direct calls on another device than the host's cores).
inline Result<LaunchReport> launch_count(Runtime& runtime, const LaunchShape& shape, Calls calls,
                                         const Job& job) {
  if (on_gpu::launch_count != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch_count(runtime, shape, calls, job);
  }
  return on_cpu::launch_count(runtime, shape, calls, job);
}

}  // namespace k2k::wordcount
