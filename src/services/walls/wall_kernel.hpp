#pragma once
// The system calls by which a thread puts itself behind walls; tests replace this interface to
// Linux.
//
// Threading: each call acts on the calling thread alone, and on the threads that it starts.

#include <functional>

#include "services/walls/call_filter.hpp"

namespace k2k::services {

struct WallKernel {
  // 0, or an errno: ENOSYS, EINVAL (no filters in this kernel), EPERM (refused by another filter),
  // ENOMEM.
  std::function<int(const FilterProgram& program)> set_filter;
  // The version of Landlock, or a negative errno: ENOSYS, EOPNOTSUPP (not enabled at boot), EPERM.
  std::function<int()> landlock_version;
  // 0, or an errno: E2BIG (16 rulesets in a row), ENOMEM. `ruleset` is a descriptor.
  std::function<int(int ruleset)> restrict_files;

  static WallKernel of_linux();
};

}  // namespace k2k::services
