// The kernel. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/miniamr/kernel.hpp"

#include <cerrno>

#if !defined(__CUDACC__) && !defined(__HIP__)
#include "apps/miniamr/direct.hpp"
#endif

namespace k2k::miniamr::K2K_ON {

Result<LaunchReport> launch_steps(Runtime& runtime, const LaunchShape& shape, Calls calls,
                                  const Job& job) {
  const Job copied = job;  // A device reads it from its closure.
  if (calls == Calls::wrapped) {
    return runtime.launch(shape, [=] K2K_DEVICE { make_steps<Wrapped>(copied); }, "miniamr");
  }
#if !defined(__CUDACC__) && !defined(__HIP__)
  return runtime.launch(shape, [=] K2K_DEVICE { make_steps<Direct>(copied); }, "miniamr");
#else
  return Error{ENOTSUP, "--by direct needs a device that is the host's cores: --backend cpu"};
#endif
}

}  // namespace k2k::miniamr::K2K_ON
