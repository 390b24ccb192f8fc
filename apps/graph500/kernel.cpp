// The kernel. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/graph500/kernel.hpp"

#include "apps/graph500/shared_step.hpp"
#include "device/k2k.hpp"

namespace k2k::graph500::K2K_ON {

Result<LaunchReport> launch_step(Runtime& runtime, const LaunchShape& shape, Work work,
                                 const Job& job) {
  const Job copied = job;  // A device reads it from its closure.
  if (job.share_min != 0 && work == Work::top_down) {
    return runtime.launch(shape, [=] K2K_DEVICE { run_shared(copied, work); }, "graph500");
  }
  return runtime.launch(
      shape, [=] K2K_DEVICE { Step(copied).run(work, k2k::global_rank(), k2k::global_size()); },
      "graph500");
}

}  // namespace k2k::graph500::K2K_ON
