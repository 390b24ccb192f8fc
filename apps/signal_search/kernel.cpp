// The kernels. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/signal_search/kernel.hpp"

#include <cerrno>

#include "apps/signal_search/block_search.hpp"
#if !defined(__CUDACC__) && !defined(__HIP__)
#include "apps/signal_search/direct.hpp"
#endif

namespace k2k::signal_search::K2K_ON {

Result<LaunchReport> launch_search(Runtime& runtime, const LaunchShape& shape, Sender sender,
                                   const Job& job) {
  const Job copied = job;  // A device reads it from its closure.
  if (sender == Sender::wrapped) {
    return runtime.launch(
        shape, [=] K2K_DEVICE { search_blocks<Wrapped>(copied); }, "signal_search");
  }
#if !defined(__CUDACC__) && !defined(__HIP__)
  return runtime.launch(shape, [=] K2K_DEVICE { search_blocks<Direct>(copied); }, "signal_search");
#else
  return Error{ENOTSUP, "--by direct needs a device that is the host's cores: --backend cpu"};
#endif
}

}  // namespace k2k::signal_search::K2K_ON
