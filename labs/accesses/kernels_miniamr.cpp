// miniAMR's kernel, recorded: the stencil of the last step. Before it the kernel fills and refines
// the mesh; the store of the step's resident memory stands between the two.

#include "apps/miniamr/kernel.hpp"
#include "labs/accesses/recorder.hpp"

#undef K2K_ON
#define K2K_ON on_recorded
#include "apps/miniamr/kernel.cpp"

namespace k2k::miniamr::on_cpu {

Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape, Calls calls,
                                  const Job& job) {
  return labs::accesses::recorded(
      true, {{job.mesh.values, job.mesh.roots() * root_bytes}, {job.mesh.fine, job.mesh.roots()}},
      [&] { return on_recorded::launch_steps(runtime, shape, calls, job); },
      job.resident + job.steps - 1);
}

}  // namespace k2k::miniamr::on_cpu
