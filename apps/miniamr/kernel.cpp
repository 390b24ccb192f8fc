// The kernel. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/miniamr/kernel.hpp"

namespace k2k::miniamr::K2K_ON {

Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape, const Job& job) {
  const Job copied = job;  // A device reads it from its closure.
  return runtime.launch(shape, [=] K2K_DEVICE { make_steps(copied); }, "miniamr");
}

}  // namespace k2k::miniamr::K2K_ON
