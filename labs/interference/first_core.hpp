#pragma once
// The core on which a laboratory steers its servers.
//
// Threading: from anywhere.

#include <cstdint>
#include <vector>

#include "bench/thread_cores.hpp"

namespace k2k::labs {

// The first core that the calling thread may use.
inline std::uint32_t first_core() {
  const std::vector<int> cores = bench::cores_of_thread();
  return cores.empty() ? 0 : static_cast<std::uint32_t>(cores.front());
}

}  // namespace k2k::labs
