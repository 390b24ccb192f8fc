// CoMD's kernels, recorded: the forces of all atoms by the cells around them.

#include "apps/comd/kernel.hpp"
#include "labs/accesses/recorder.hpp"

#undef K2K_ON
#define K2K_ON on_recorded
#include "apps/comd/kernel.cpp"

namespace k2k::comd::on_cpu {

Result<LaunchReport> launch_phase(Runtime& runtime, const LaunchShape& shape, Phase phase,
                                  std::uint32_t odd, const Job& job) {
  const std::size_t cells = job.box.cell_count();
  return labs::accesses::recorded(
      phase == Phase::first_push,
      {{job.atoms, job.atom_count * sizeof(Atom)},
       {job.slots, cells * cell_atoms_most * sizeof(std::uint64_t)},
       {job.counts, 2 * cells * sizeof(std::uint32_t)},
       {job.forces, job.atom_count * sizeof(Force)}},
      [&] { return on_recorded::launch_phase(runtime, shape, phase, odd, job); });
}

}  // namespace k2k::comd::on_cpu
