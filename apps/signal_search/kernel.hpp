#pragma once
// Starts the kernel of signal-search. It is separate from the host's files, as every kernel.

#include "apps/signal_search/job.hpp"
#include "k2k/runtime.hpp"

namespace k2k::signal_search {

// Who sends the signals.
enum class Sender : std::uint8_t {
  wrapped,  // The kernel, by K2K.
  direct,   // The kernel, by libc on its own thread: the cpu backend alone. The floor.
};

namespace on_cpu {
Result<LaunchReport> launch_search(Runtime& runtime, const LaunchShape& shape, Sender sender,
                                   const Job& job);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_search(Runtime& runtime, const LaunchShape& shape,
                                                 Sender sender, const Job& job);
}

// Errors: as Runtime::launch(); ENOTSUP (direct on another device than the host's cores).
inline Result<LaunchReport> launch_search(Runtime& runtime, const LaunchShape& shape, Sender sender,
                                          const Job& job) {
  if (on_gpu::launch_search != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch_search(runtime, shape, sender, job);
  }
  return on_cpu::launch_search(runtime, shape, sender, job);
}

}  // namespace k2k::signal_search
