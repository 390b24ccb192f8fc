#include "backend/gpu/kernels.hpp"

#include <cerrno>
#include <string>

#include "backend/limits.hpp"

namespace k2k::backend::gpu {

Status Kernels::load_all() const {
  for (const DeviceKernel* kernel = device_kernels(); kernel != nullptr; kernel = kernel->next) {
    if (kernel->platform != info_.platform) continue;
    const Result<Function> function = driver_.load(*kernel, info_.name);
    if (!function) return function.error();
  }
  return {};
}

Result<Function> Kernels::function_of(const KernelImage& kernel, const LaunchShape& shape) const {
  const std::string name = "kernel '" + std::string(kernel.name) + "': ";
  if (kernel.device == nullptr || kernel.device->platform != info_.platform) {
    return Error{EINVAL, name + "it has no code for this device; compile it with " +
                             driver_.names().compiler};
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
  return driver_.load(*kernel.device, info_.name);
}

}  // namespace k2k::backend::gpu
