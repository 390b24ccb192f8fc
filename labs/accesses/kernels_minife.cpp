// miniFE's kernels, recorded: the matrix times a vector.

#include "apps/minife/kernel.hpp"
#include "labs/accesses/recorder.hpp"

#undef K2K_ON
#define K2K_ON on_recorded
#include "apps/minife/kernel.cpp"

namespace k2k::minife::on_cpu {

Result<LaunchReport> launch_phase(Runtime& runtime, const LaunchShape& shape, Phase phase,
                                  double factor, const Job& job) {
  const std::size_t vector_bytes = job.matrix.layout.rows * sizeof(double);
  return labs::accesses::recorded(
      phase == Phase::multiply,
      {{job.matrix.data, job.matrix.layout.pages() * page_bytes},
       {job.direction, vector_bytes},
       {job.image, vector_bytes},
       {job.partial, job.blocks() * sizeof(Partial)}},
      [&] { return on_recorded::launch_phase(runtime, shape, phase, factor, job); });
}

}  // namespace k2k::minife::on_cpu
