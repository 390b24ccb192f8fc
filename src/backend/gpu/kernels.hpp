#pragma once
// The kernels of this program, loaded onto a GPU.
//
// Threading: from any thread, with the context current.

#include "backend/gpu/driver.hpp"
#include "backend/kernel_image.hpp"
#include "backend/launch.hpp"
#include "base/result.hpp"

namespace k2k::backend::gpu {

class Kernels {
 public:
  // Both outlive it.
  Kernels(const Driver& driver, const DeviceInfo& info) : driver_(driver), info_(info) {}

  // Every kernel of the program. Before any kernel waits for the host: loading one later may wait
  // until that one has ended. Errors: EIO, ENOMEM.
  Status load_all() const;
  // The code of a kernel that was loaded. Errors: EINVAL (no such code, or the shape), EIO.
  Result<Function> function_of(const KernelImage& kernel, const LaunchShape& shape) const;

 private:
  const Driver& driver_;
  const DeviceInfo& info_;
};

}  // namespace k2k::backend::gpu
