// The kernel. Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "apps/bpt/kernel.hpp"

namespace k2k::bpt::K2K_ON {

Result<LaunchReport> launch_search(Runtime& runtime, const LaunchShape& shape,
                                   const Search& search) {
  return runtime.launch(shape, search, "bpt");
}

}  // namespace k2k::bpt::K2K_ON
