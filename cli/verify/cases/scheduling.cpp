// The cores, priorities and time slices of threads.

#include <linux/membarrier.h>
#include <sched.h>

#include "cli/verify/case.hpp"

namespace k2k::cli::verify {

std::vector<Case> scheduling_cases() {
  return {
      {SYS_sched_get_priority_max, "in turns", {number(SCHED_RR)}},
      {SYS_sched_get_priority_max, "of no policy", {number(99)}},
      {SYS_sched_get_priority_min, "in turns", {number(SCHED_RR)}},
      {SYS_membarrier, "its commands", {number(MEMBARRIER_CMD_QUERY), number(0), number(0)}},
      {SYS_membarrier, "no command", {number(1 << 30), number(0), number(0)}},
  };
}

}  // namespace k2k::cli::verify
