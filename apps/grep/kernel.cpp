// The kernel: every worker takes tasks until none is left. One instance for each way of making
// calls.
//
// Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/grep/kernel.hpp"

#include "apps/grep/group_search.hpp"
#include "apps/grep/walk.hpp"
#include "apps/grep/worker.hpp"

namespace k2k::grep::K2K_ON {

namespace {

template <class How>
K2K_DEVICE void search_by_item(const Job& job) {
  Worker<How> worker(job, k2k::global_rank());
  while (worker.take() != TaskKind::none) worker.work();
}

template <class How>
K2K_DEVICE void search_by_group(const Job& job) {
  K2K_LOCAL(Meeting, meeting);
  Worker<How> worker(job, k2k::group_rank());
  const bool first = k2k::item_rank() == 0;
  while (true) {
    if (first) meeting = {static_cast<std::uint32_t>(worker.take()), 0, 0};
    k2k::barrier();
    const auto kind = static_cast<TaskKind>(meeting.kind);
    if (kind == TaskKind::none) return;
    if (kind == TaskKind::file || kind == TaskKind::trickle) {
      worker.search_as_group(meeting, kind);
    } else if (first) {
      worker.work();
    }
    k2k::barrier();  // Every item has read `meeting`.
  }
}

template <class How>
Result<LaunchReport> launch_as(Runtime& runtime, const KernelShape& shape, const Job& job) {
  const Job copied = job;  // A device reads it from its closure.
  if (shape.granularity == Granularity::work_group) {
    return runtime.launch(shape.launch, [=] K2K_DEVICE { search_by_group<How>(copied); }, "grep");
  }
  return runtime.launch(shape.launch, [=] K2K_DEVICE { search_by_item<How>(copied); }, "grep");
}

}  // namespace

Result<LaunchReport> launch_search(Runtime& runtime, const KernelShape& shape, const Job& job) {
  if (shape.halting) {
    return shape.detached ? launch_as<Manner<true, true>>(runtime, shape, job)
                          : launch_as<Manner<true, false>>(runtime, shape, job);
  }
  return shape.detached ? launch_as<Manner<false, true>>(runtime, shape, job)
                        : launch_as<Manner<false, false>>(runtime, shape, job);
}

}  // namespace k2k::grep::K2K_ON
