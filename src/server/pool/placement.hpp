#pragma once
// The cores that service threads may use: a thread is restricted to the cores of its work, and
// released from them by the next work that may run anywhere.
//
// Threading: put() on the thread that it places.

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/pool/service_thread.hpp"

namespace k2k::server {

// Every `step`-th core of the list, starting with core `first`. Empty: no restriction.
inline cpu_set_t cores_of(const std::vector<std::uint32_t>& list, std::size_t first = 0,
                          std::size_t step = 1) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (std::size_t at = first; at < list.size(); at += step) CPU_SET(list[at], &cores);
  return cores;
}

class Placement {
 public:
  // Threads without a restriction may use the cores that the calling thread may use.
  Placement() {
    CPU_ZERO(&home_);
    sched_getaffinity(0, sizeof(home_), &home_);
  }

  void put(ServiceThread& self, cpu_set_t cores) const {
    if (CPU_COUNT(&cores) == 0) {
      if (!self.placed) return;
      cores = home_;
    }
    if (self.placed && CPU_EQUAL(&cores, &self.cores) != 0) return;
    // A core went offline meanwhile: the thread stays on its cores and keeps serving.
    if (pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores) != 0) return;
    self.cores = cores;
    self.placed = true;
  }

 private:
  cpu_set_t home_{};
};

}  // namespace k2k::server
