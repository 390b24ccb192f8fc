#pragma once
// All counters of a machine at one moment.
//
// A snapshot reads two files for each thread, in about 5 us. It takes no lock, so threads come and
// go meanwhile: a thread that vanishes is left out.
//
// Threading: from anywhere.

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "cli/watch/sources/counters.hpp"
#include "cli/watch/sources/text_files.hpp"
#include "cli/watch/sources/threads.hpp"

namespace k2k::watch {

inline constexpr std::size_t threads_max = 65'536;

struct ThreadTimes {
  ThreadStat stat;
  int process = 0;
  double cpu_s = 0;     // On a core, by the scheduler's own clock.
  double waited_s = 0;  // For a core.
};

struct Snapshot {
  Instant when{};
  Times times;
  std::vector<CountedLine> interrupts;
  std::vector<CountedLine> softirqs;
  std::map<int, ThreadTimes> threads;
  // CPU time of programs since their beginning, in user mode and in system calls, that of ended and
  // awaited children included. The sum over all processes keeps the time of a process that ended,
  // because its parent inherits it.
  double programs_s = 0;
  bool complete = true;  // False: more threads than threads_max.
};

// Errors: from reading stat, interrupts or softirqs of /proc, with the path; EBADMSG, a stat
// without a core; ENOENT, a /proc without processes.
Result<Snapshot> take_snapshot(const Roots& roots);

}  // namespace k2k::watch
