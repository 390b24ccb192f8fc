#pragma once
// The relaunch baseline (thesis, section 3.2, figure 3.1 left): a program without system calls in
// kernels. The kernel is split at every system call. A piece runs until it needs the call, leaves
// it in its group's SplitCall and ends; the host makes the calls of all groups and launches the
// next piece.
//
//   kernel piece   read the answer, work, leave the next call   (or none: the group has ended)
//   host           make all calls that were left, by one thread per core
//   until no group left a call
//
// The state of a group between two pieces lies in memory, as the program defines it.
//
// Threading: split_launches() from one thread. It starts the threads that make the calls, and ends
// them.

#include <cstdint>
#include <functional>

#include "base/attributes.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

namespace k2k::apps {

// One system call of one group, in memory that host and kernel share. A kernel writes number and
// arguments, and reads the result in its next piece; the host does the reverse between the two.
struct alignas(64) SplitCall {
  static constexpr std::int32_t none = -1;

  std::int32_t number = none;
  std::int64_t result = 0;  // As Linux answers: 0 or more, or a negative errno.
  std::uint64_t arguments[6] = {};

  // Device code: leaves a call for the host.
  template <class... Given>
  K2K_HD void leave(std::int32_t which, Given... given) {
    static_assert(sizeof...(Given) <= 6, "a system call has at most six arguments");
    const std::uint64_t words[6] = {static_cast<std::uint64_t>(given)...};
    for (unsigned place = 0; place < 6; ++place) arguments[place] = words[place];
    number = which;
  }
  K2K_HD void leave_none() { number = none; }
};

struct SplitReport {
  std::uint64_t launches = 0;
  std::uint64_t calls = 0;
  Nanoseconds in_launches{};  // The rest of the time is the host's, with its calls.
};

// Launches pieces until no group leaves a call. `launch` runs one piece of every group. `threads`,
// at least 1, make the calls, the caller's among them. Errors: those of `launch`; EAGAIN (no
// thread).
Result<SplitReport> split_launches(SplitCall* calls, std::uint32_t groups, std::uint32_t threads,
                                   const std::function<Status()>& launch);

}  // namespace k2k::apps
