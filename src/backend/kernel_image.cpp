#include "backend/kernel_image.hpp"

#include <atomic>

namespace k2k::backend {

namespace {
// Constant-initialised: kernels of other translation units may come first.
std::atomic<const DeviceKernel*> last{nullptr};
}  // namespace

DeviceKernel::DeviceKernel(const char* compiled_for, Load how) noexcept
    : platform(compiled_for), load(how), next(last.load(std::memory_order_relaxed)) {
  // Pairs with device_kernels().
  while (!last.compare_exchange_weak(next, this, std::memory_order_release,
                                     std::memory_order_relaxed)) {
  }
}

const DeviceKernel* device_kernels() noexcept { return last.load(std::memory_order_acquire); }

}  // namespace k2k::backend
