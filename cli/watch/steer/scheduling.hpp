#pragma once
// The scheduling of one thread of the machine: its cores and its policy (sched_setaffinity(2),
// sched_setattr(2)), and its identity.
//
// Threading: from anywhere.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/watch/sources/text_files.hpp"
#include "cli/watch/sources/threads.hpp"

namespace k2k::watch {

// All that sched_getattr(2) says of a thread, as numbers.
struct Policy {
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;  // Of SCHED_DEADLINE, as the next two.
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;

  bool operator==(const Policy&) const = default;
};

// At most this fraction of one core, by SCHED_DEADLINE with periods of 10 ms.
Policy capped_at(double fraction);

// The thread's stat; nullopt if it has ended.
std::optional<ThreadStat> find_thread(const Roots& roots, int thread);

// The cores that it may use by /proc/THREAD/status, those that are offline now included: the cores
// that an undo must restore. sched_getaffinity(2) leaves them out. Errors: ESRCH, as open(2).
Result<std::vector<int>> permitted_cores(const Roots& roots, int thread);

// True if this process may change the thread: it has CAP_SYS_NICE, or the thread's user.
bool may_change(const Roots& roots, int thread);
// True if this process has CAP_SYS_NICE, without which Linux gives no thread SCHED_DEADLINE.
bool may_cap(const Roots& roots);

// Errors of these four: as the system calls, with the bare reason as message.
Result<std::vector<int>> cores_of_thread(int thread);
Status set_cores(int thread, const std::vector<int>& cores);
Result<Policy> policy_of_thread(int thread);
Status set_policy(int thread, const Policy& policy);

}  // namespace k2k::watch
