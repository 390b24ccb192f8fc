#pragma once
// Kernels that another library launches on the device of a backend: Numba, CuPy, PyTorch or the
// program itself, by the vendor's own interface. The backend sees neither their begin nor their
// end, so the program says between which moments the server has to look for their calls.
//
//   begin() ─▶ context() ─▶ the program launches kernels with that address ─▶ end()
//
// Threading: any thread, one call at a time. Not in a service thread.

#include <cstdint>

#include "base/result.hpp"

namespace k2k::backend {

class ForeignKernels {
 public:
  ForeignKernels() = default;
  virtual ~ForeignKernels() = default;
  ForeignKernels(const ForeignKernels&) = delete;
  ForeignKernels& operator=(const ForeignKernels&) = delete;

  // Waits for a launch in progress. EBUSY: it serves already.
  virtual Status begin() = 0;
  // The device address of a device::platform::ForeignContext that names the memory which is
  // registered now. Valid until end(); the same until other memory is registered. Errors: EINVAL
  // (it does not serve), ENOMEM, EIO.
  virtual Result<std::uint64_t> context() = 0;
  // Waits for all kernels of the device's context; their calls are served meanwhile. Errors:
  // EINVAL (it does not serve); EIO (a kernel failed), ECANCELED (Backend::cancel() was called):
  // it has ended.
  virtual Status end() = 0;
};

}  // namespace k2k::backend
