#pragma once
// Counters of a victim by perf_event_open(2), in user mode: misses of the first data cache and
// mispredicted branches (the paper's figure 5), of all its threads and of the processes that it
// starts. Virtual machines mostly have no hardware counters.
//
// Threading: the laboratory's thread.

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/descriptor.hpp"

namespace k2k::labs::harm {

// As perf_event_attr names it.
struct CounterEvent {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
};
// Each empty where it is not counted.
struct CounterEvents {
  std::optional<CounterEvent> cache_misses = {};
  std::optional<CounterEvent> branch_misses = {};

  [[nodiscard]] bool any() const { return cache_misses || branch_misses; }
};

bool has_hardware_counters();
// Empty on a machine without hardware counters.
CounterEvents hardware_events();

// -1: the machine has no such counter, or does not permit it.
struct Counts {
  double cache_misses = -1;
  double branch_misses = -1;

  void add(const Counts& more);  // Of a further run.
};

class UserCounters {
 public:
  // Counts from now on. The process must not have begun its work.
  UserCounters(pid_t process, const CounterEvents& events);
  // Also after the process has ended. Counters that took turns are scaled to the whole time.
  [[nodiscard]] Counts read() const;

 private:
  Descriptor cache_misses_;
  Descriptor branch_misses_;
};

}  // namespace k2k::labs::harm
