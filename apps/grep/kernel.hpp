#pragma once
// Starts the kernel of k2k grep. It is separate from the host's files, because a kernel includes
// functions named read and close.

#include "apps/grep/job.hpp"
#include "k2k/runtime.hpp"

namespace k2k::grep {

enum class Granularity : std::uint8_t {
  work_item,   // A work-item searches a file alone.
  work_group,  // A work-group searches a file; each item searches a part of the text.
};

struct KernelShape {
  Granularity granularity = Granularity::work_item;
  bool halting = false;  // Wait halted instead of polling.
  bool detached = true;  // Do not wait for the answers of write and close.
  LaunchShape launch;

  [[nodiscard]] std::uint64_t workers() const {
    return granularity == Granularity::work_group
               ? launch.groups
               : std::uint64_t{launch.groups} * launch.group_items;
  }
};

namespace on_cpu {
Result<LaunchReport> launch_search(Runtime& runtime, const KernelShape& shape, const Job& job);
}
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_search(Runtime& runtime, const KernelShape& shape,
                                                 const Job& job);
}

// Returns when every PATH was searched or the search was stopped. `job.buffers` has shape.workers()
// entries. Errors: as Runtime::launch().
inline Result<LaunchReport> launch_search(Runtime& runtime, const KernelShape& shape,
                                          const Job& job) {
  if (on_gpu::launch_search != nullptr && runtime.device().platform != "cpu") {
    return on_gpu::launch_search(runtime, shape, job);
  }
  return on_cpu::launch_search(runtime, shape, job);
}

}  // namespace k2k::grep
