#include "backend/cuda/kernels.hpp"

#include <cerrno>
#include <string>

#include "backend/limits.hpp"

namespace k2k::backend::cuda {

Status Kernels::load_all() const {
  for (const DeviceKernel* kernel = device_kernels(); kernel != nullptr; kernel = kernel->next) {
    if (kernel->platform != info_.platform) continue;
    const Result<CUfunction> function = load(*kernel);
    if (!function) return function.error();
  }
  return {};
}

Result<CUfunction> Kernels::load(const DeviceKernel& kernel) const {
  const char* why = "no reason given";
  auto* const function = static_cast<CUfunction>(kernel.load(&why));
  if (function == nullptr) {
    return Error{EIO, "a kernel of this program cannot be loaded onto " + info_.name + ": " + why +
                          "; compile it for this device (CMAKE_CUDA_ARCHITECTURES)"};
  }
  if (Status done = driver_.call(driver_.cuFuncLoad(function), "load a kernel"); !done) {
    return done.error();
  }
  return function;
}

Result<CUfunction> Kernels::function_of(const KernelImage& kernel, const LaunchShape& shape) const {
  const std::string name = "kernel '" + std::string(kernel.name) + "': ";
  if (kernel.device == nullptr || kernel.device->platform != info_.platform) {
    return Error{EINVAL, name + "it has no code for this device; compile it with nvcc"};
  }
  if (shape.groups == 0 || shape.groups > (1u << 31) - 1) {
    return Error{EINVAL, name + "a launch has 1 to 2,147,483,647 work-groups, not " +
                             std::to_string(shape.groups)};
  }
  if (shape.group_items == 0 || shape.group_items > info_.group_items_max) {
    return Error{EINVAL, name + "a work-group has 1 to " + std::to_string(info_.group_items_max) +
                             " work-items, not " + std::to_string(shape.group_items)};
  }
  if (const Status status = check_tenant(name, shape.tenant); !status) return status.error();
  return load(*kernel.device);
}

}  // namespace k2k::backend::cuda
