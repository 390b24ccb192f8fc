#pragma once
// Starts the kernels of miniFE. They are separate from the host's files, as every kernel.

#include "apps/minife/steps.hpp"
#include "k2k/runtime.hpp"

namespace k2k::minife {

enum class Phase : std::uint8_t { take, judge, begin, multiply, advance, turn, measure };

namespace on_cpu {
Result<LaunchReport> launch_phase(Runtime& runtime, const LaunchShape& shape, Phase phase,
                                  double factor, const Job& job);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_phase(Runtime& runtime, const LaunchShape& shape,
                                                Phase phase, double factor, const Job& job);
}

// `factor`: of advance and turn. Errors: as Runtime::launch().
inline Result<LaunchReport> launch_phase(Runtime& runtime, const LaunchShape& shape, Phase phase,
                                         double factor, const Job& job) {
  if (on_gpu::launch_phase != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch_phase(runtime, shape, phase, factor, job);
  }
  return on_cpu::launch_phase(runtime, shape, phase, factor, job);
}

// The same phase by a thread of the host. In threads.cpp.
void make_share(Phase phase, const apps::Share& share, double factor, const Job& job);

}  // namespace k2k::minife
