#pragma once
// Starts the kernels of CoMD. They are separate from the host's files, as every kernel.

#include "apps/comd/steps.hpp"
#include "k2k/runtime.hpp"

namespace k2k::comd {

enum class Phase : std::uint8_t { take, move, order, first_push, push, sum };

namespace on_cpu {
Result<LaunchReport> launch_phase(Runtime& runtime, const LaunchShape& shape, Phase phase,
                                  std::uint32_t odd, const Job& job);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_phase(Runtime& runtime, const LaunchShape& shape,
                                                Phase phase, std::uint32_t odd, const Job& job);
}

// `odd`: of the step's number. Errors: as Runtime::launch().
inline Result<LaunchReport> launch_phase(Runtime& runtime, const LaunchShape& shape, Phase phase,
                                         std::uint32_t odd, const Job& job) {
  if (on_gpu::launch_phase != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch_phase(runtime, shape, phase, odd, job);
  }
  return on_cpu::launch_phase(runtime, shape, phase, odd, job);
}

// The same phase by a thread of the host. In threads.cpp.
void make_share(Phase phase, const apps::Share& share, std::uint32_t odd, const Job& job);

}  // namespace k2k::comd
