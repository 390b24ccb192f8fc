// The kernels. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/comd/kernel.hpp"

namespace k2k::comd::K2K_ON {

Result<LaunchReport> launch_phase(Runtime& runtime, const LaunchShape& shape, Phase phase,
                                  std::uint32_t odd, const Job& job) {
  const Job copied = job;  // A device reads it from its closure.
  switch (phase) {
    case Phase::take:
      return runtime.launch(
          shape, [=] K2K_DEVICE { take(copied, apps::share_of_item()); }, "comd.take");
    case Phase::move:
      return runtime.launch(
          shape, [=] K2K_DEVICE { move(copied, apps::share_of_item(), odd); }, "comd.move");
    case Phase::order:
      return runtime.launch(
          shape, [=] K2K_DEVICE { order(copied, apps::share_of_item(), odd); }, "comd.order");
    case Phase::first_push:
      return runtime.launch(
          shape, [=] K2K_DEVICE { push(copied, apps::share_of_item(), odd, false); }, "comd.push");
    case Phase::push:
      return runtime.launch(
          shape, [=] K2K_DEVICE { push(copied, apps::share_of_item(), odd, true); }, "comd.push");
    case Phase::sum:
      break;
  }
  return runtime.launch(shape, [=] K2K_DEVICE { sum(copied, apps::share_of_item()); }, "comd.sum");
}

}  // namespace k2k::comd::K2K_ON
