// The kernels. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/minife/kernel.hpp"

namespace k2k::minife::K2K_ON {

Result<LaunchReport> launch_phase(Runtime& runtime, const LaunchShape& shape, Phase phase,
                                  double factor, const Job& job) {
  const Job copied = job;  // A device reads it from its closure.
  switch (phase) {
    case Phase::take:
      return runtime.launch(
          shape, [=] K2K_DEVICE { take(copied, apps::share_of_item()); }, "minife.take");
    case Phase::judge:
      return runtime.launch(
          shape, [=] K2K_DEVICE { judge(copied, apps::share_of_item()); }, "minife.judge");
    case Phase::begin:
      return runtime.launch(
          shape, [=] K2K_DEVICE { begin(copied, apps::share_of_item()); }, "minife.begin");
    case Phase::multiply:
      return runtime.launch(
          shape, [=] K2K_DEVICE { multiply(copied, apps::share_of_item()); }, "minife.multiply");
    case Phase::advance:
      return runtime.launch(
          shape, [=] K2K_DEVICE { advance(copied, apps::share_of_item(), factor); },
          "minife.advance");
    case Phase::turn:
      return runtime.launch(
          shape, [=] K2K_DEVICE { turn(copied, apps::share_of_item(), factor); }, "minife.turn");
    case Phase::measure:
      break;
  }
  return runtime.launch(
      shape, [=] K2K_DEVICE { measure(copied, apps::share_of_item()); }, "minife.measure");
}

}  // namespace k2k::minife::K2K_ON
