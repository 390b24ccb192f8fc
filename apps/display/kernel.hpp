#pragma once
// Starts the kernels of k2k-display. They are separate from the host's files, as every kernel.

#include "apps/display/job.hpp"
#include "k2k/runtime.hpp"

namespace k2k::display {

// Which kernel.
enum class Kernel : std::uint8_t {
  show,       // Any shape of launch.
  give_back,  // The terminal. One work-item.
};

namespace on_cpu {
Result<LaunchReport> launch(Runtime& runtime, const LaunchShape& shape, Kernel kernel,
                            const Job& job);
Result<LaunchReport> launch_questions(Runtime& runtime, const LaunchShape& shape,
                                      const Questions& questions);
}  // namespace on_cpu
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch(Runtime& runtime, const LaunchShape& shape, Kernel kernel,
                                          const Job& job);
[[gnu::weak]] Result<LaunchReport> launch_questions(Runtime& runtime, const LaunchShape& shape,
                                                    const Questions& questions);
}  // namespace on_gpu

// Errors: as Runtime::launch().
inline Result<LaunchReport> launch(Runtime& runtime, const LaunchShape& shape, Kernel kernel,
                                   const Job& job) {
  if (on_gpu::launch != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch(runtime, shape, kernel, job);
  }
  return on_cpu::launch(runtime, shape, kernel, job);
}
inline Result<LaunchReport> launch_questions(Runtime& runtime, const LaunchShape& shape,
                                             const Questions& questions) {
  if (on_gpu::launch_questions != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch_questions(runtime, shape, questions);
  }
  return on_cpu::launch_questions(runtime, shape, questions);
}

}  // namespace k2k::display
