// The kernels. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/wordcount/kernel.hpp"

#include <cerrno>

#include "apps/wordcount/group_count.hpp"
#include "apps/wordcount/split_count.hpp"
#if !defined(__CUDACC__) && !defined(__HIP__)
#include "apps/wordcount/direct.hpp"
#endif

namespace k2k::wordcount::K2K_ON {

Result<LaunchReport> launch_count(Runtime& runtime, const LaunchShape& shape, Calls calls,
                                  const Job& job) {
  const Job copied = job;  // A device reads it from its closure.
  switch (calls) {
    case Calls::wrapped:
      return runtime.launch(shape, [=] K2K_DEVICE { count_files<Wrapped>(copied); }, "wordcount");
    case Calls::split:
      return runtime.launch(shape, [=] K2K_DEVICE { count_piece(copied); }, "wordcount");
    case Calls::direct:
#if !defined(__CUDACC__) && !defined(__HIP__)
      return runtime.launch(shape, [=] K2K_DEVICE { count_files<Direct>(copied); }, "wordcount");
#else
      break;
#endif
  }
  return Error{ENOTSUP, "--by direct needs a device that is the host's cores: --backend cpu"};
}

}  // namespace k2k::wordcount::K2K_ON
