#pragma once
// The cores of the calling thread, for benchmarks and laboratories that choose one.
//
// Threading: from anywhere; each call is about the calling thread.

#include <sched.h>

#include <vector>

namespace k2k::bench {

// The cores that the thread may use, in order. Empty: Linux does not tell.
inline std::vector<int> cores_of_thread() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof(usable), &usable) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &usable)) cores.push_back(core);
  }
  return cores;
}

// Returns on that core. A core that went away is passed: the thread stays where it may run.
inline void stay_on(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(core), &one);
  ::sched_setaffinity(0, sizeof(one), &one);
}

}  // namespace k2k::bench
