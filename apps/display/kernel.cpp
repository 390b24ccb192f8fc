// The kernels. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/display/kernel.hpp"

#include "apps/display/show.hpp"

namespace k2k::display::K2K_ON {

Result<LaunchReport> launch(Runtime& runtime, const LaunchShape& shape, Kernel kernel,
                            const Job& job) {
  const Job copied = job;  // A device reads it from its closure.
  if (kernel == Kernel::give_back) {
    return runtime.launch(shape, [=] K2K_DEVICE { give_terminal_back(copied); }, "display_end");
  }
  return runtime.launch(shape, [=] K2K_DEVICE { show_picture(copied); }, "display");
}

Result<LaunchReport> launch_questions(Runtime& runtime, const LaunchShape& shape,
                                      const Questions& questions) {
  const Questions copied = questions;
  return runtime.launch(shape, [=] K2K_DEVICE { ask_all(copied); }, "display_query");
}

}  // namespace k2k::display::K2K_ON
