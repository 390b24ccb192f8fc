// The C ABI's functions for kernels that another library launches, include/k2k/k2k.h.

#include <k2k/k2k.h>

#include "base/api.hpp"
#include "runtime/c_abi/c_abi_common.hpp"
#include "runtime/serving.hpp"

using k2k::c_abi::failed;
using k2k::c_abi::guarded;
using k2k::c_abi::missing;

extern "C" {

K2K_API int k2k_serve(k2k_runtime* runtime) {
  if (runtime == nullptr) return missing("runtime");
  return guarded([&] {
    const k2k::Status begun = k2k::Serving::begin(runtime->runtime);
    return begun ? 0 : failed(begun.error());
  });
}

K2K_API int k2k_serve_context(k2k_runtime* runtime, uint64_t* context) {
  if (context == nullptr) return missing("context");
  *context = 0;
  if (runtime == nullptr) return missing("runtime");
  return guarded([&] {
    const k2k::Result<std::uint64_t> address = k2k::Serving::context(runtime->runtime);
    if (!address) return failed(address.error());
    *context = address.value();
    return 0;
  });
}

K2K_API int k2k_serve_end(k2k_runtime* runtime) {
  if (runtime == nullptr) return missing("runtime");
  return guarded([&] {
    const k2k::Status ended = k2k::Serving::end(runtime->runtime);
    return ended ? 0 : failed(ended.error());
  });
}

}  // extern "C"
