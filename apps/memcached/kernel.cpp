// The kernels. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/memcached/kernel.hpp"

#include <cerrno>

#include "apps/memcached/serve.hpp"
#include "apps/memcached/split_serve.hpp"
#if !defined(__CUDACC__) && !defined(__HIP__)
#include "apps/memcached/direct.hpp"
#endif

namespace k2k::memcached::K2K_ON {

Result<LaunchReport> launch_serve(Runtime& runtime, const LaunchShape& shape, Pieces pieces,
                                  const Job& job) {
  const Job copied = job;  // A device reads it from its closure.
  if (pieces == Pieces::whole) {
    return runtime.launch(shape, [=] K2K_DEVICE { serve<Wrapped>(copied); }, "memcached");
  }
  if (pieces == Pieces::direct) {
#if !defined(__CUDACC__) && !defined(__HIP__)
    return runtime.launch(shape, [=] K2K_DEVICE { serve<Direct>(copied); }, "memcached");
#else
    return Error{ENOTSUP, "--by direct needs a device that is the host's cores: --backend cpu"};
#endif
  }
  return runtime.launch(shape, [=] K2K_DEVICE { serve_piece(copied); }, "memcached");
}

}  // namespace k2k::memcached::K2K_ON
