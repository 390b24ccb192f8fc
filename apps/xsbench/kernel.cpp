// The kernel. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/xsbench/kernel.hpp"

namespace k2k::xsbench::K2K_ON {

Result<LaunchReport> launch_lookup(Runtime& runtime, const LaunchShape& shape,
                                   const Lookup& lookup) {
  return runtime.launch(shape, lookup, "xsbench");
}

}  // namespace k2k::xsbench::K2K_ON
