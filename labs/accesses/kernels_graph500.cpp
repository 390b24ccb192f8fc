// graph500's kernel, recorded: the steps of a search.

#include "apps/graph500/kernel.hpp"
#include "labs/accesses/recorder.hpp"

#undef K2K_ON
#define K2K_ON on_recorded
#include "apps/graph500/kernel.cpp"

namespace k2k::graph500::on_cpu {

Result<LaunchReport> launch_step(Runtime& runtime, const LaunchShape& shape, Work work,
                                 const Job& job) {
  const std::size_t words = (job.vertices + 63) / 64 * sizeof(std::uint64_t);
  return labs::accesses::recorded(
      work != Work::clear,
      {{job.offsets, (job.vertices + 1) * sizeof(std::uint64_t)},
       {job.targets, job.target_count * sizeof(std::uint32_t)},
       {job.parents, job.vertices * sizeof(std::uint32_t)},
       {job.levels, job.vertices * sizeof(std::uint32_t)},
       {job.seen, words},
       {job.front, words},
       {job.next, words},
       {job.spare, words}},
      [&] { return on_recorded::launch_step(runtime, shape, work, job); });
}

}  // namespace k2k::graph500::on_cpu
