// The kernels. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "labs/interference/generators/kernels.hpp"

namespace k2k::labs::generators::K2K_ON {

Result<LaunchReport> launch_kernel(Runtime& runtime, const LaunchShape& shape, const Kernel& kernel,
                                   const char* name) {
  return std::visit([&](const auto& one) { return runtime.launch(shape, one, name); }, kernel);
}

}  // namespace k2k::labs::generators::K2K_ON
