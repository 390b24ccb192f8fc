#pragma once
// The core on which a laboratory steers its servers.
//
// Threading: from anywhere.

#include <sched.h>

#include <cstdint>

namespace k2k::labs {

// The first core that the calling thread may use.
inline std::uint32_t first_core() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  sched_getaffinity(0, sizeof(usable), &usable);
  for (std::uint32_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &usable)) return core;
  }
  return 0;
}

}  // namespace k2k::labs
