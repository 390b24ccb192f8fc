#pragma once
// The cost of the kernel's device paths between two snapshots: who took CPU time, for which device
// and driver, on which core, and who waited.
//
// Every second of a core belongs to one class, and each class has its own source:
//
//   idle, steal          /proc/stat
//   interrupts, softirqs /proc/stat; their division over interrupts by the counts of each core
//   kernel threads       the scheduler's clock of each thread (schedstat)
//   programs             the processes' own CPU time, that of awaited children included; its part
//                        in user mode is /proc/stat's, the rest are system calls and page faults
//
// With BPF, interrupts, softirqs, kernel threads, programs and idle are measured by tracepoints,
// and only steal is from /proc/stat. The sum of the classes is compared with the total of
// /proc/stat: `Classes::covered()` is 1 if nothing was lost and nothing counted twice.
//
// Threading: pure functions.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/watch/bpf/traced.hpp"
#include "cli/watch/rules.hpp"
#include "cli/watch/sources/machine.hpp"
#include "cli/watch/sources/snapshot.hpp"

namespace k2k::watch {

struct Row {
  std::string part;    // Of the rules: "nvidia", "storage".
  std::string kind;    // Of the rules: "accelerator".
  std::string source;  // "interrupt", "softirq", "thread", "work"
  std::string name;    // "virtio1-req.0", "NET_RX", "kworker writeback"
  std::string device;  // "0000:01:00.0"; empty if there is none.
  std::string driver;
  double cpu_s = 0;
  std::optional<std::uint64_t> count;  // Interrupts, softirqs, work items.
  bool estimated = false;              // CPU time divided by counts, or by a worker's last work.
  std::map<int, double> by_core;       // CPU time.
};

struct Victim {
  int process = 0;
  std::string name;
  double waited_s = 0;                  // Runnable without a core, for any reason.
  std::optional<double> behind_s;       // With BPF: of this, while a kernel thread had the core.
  std::optional<double> interrupted_s;  // With BPF: interrupts and softirqs in its time.
};

// A kernel thread that ran while a program waited for the core.
struct Harm {
  std::string cause;  // A thread's common name, "kworker writeback".
  std::string victim;
  int process = 0;
  double waited_s = 0;
  std::uint64_t times = 0;
};

struct Classes {
  double user_s = 0;  // With BPF: programs, in user mode and in system calls.
  double system_calls_s = 0;
  double kernel_threads_s = 0;
  double interrupts_s = 0;
  double softirqs_s = 0;
  double idle_s = 0;
  double steal_s = 0;
  double total_s = 0;  // Of /proc/stat.

  [[nodiscard]] double attributed_s() const {
    return system_calls_s + kernel_threads_s + interrupts_s + softirqs_s;
  }
  [[nodiscard]] double sum_s() const { return user_s + attributed_s() + idle_s + steal_s; }
  // The sum of all classes as a fraction of the total; 0 if no time passed.
  [[nodiscard]] double covered() const;
};

struct Report {
  double seconds = 0;
  std::vector<int> cores;  // Online in both snapshots.
  std::vector<int> went_offline;
  bool traced = false;
  std::string no_trace;  // Why tracepoints were not used.
  Classes classes;
  Times by_core;
  std::vector<Row> rows;        // The most expensive first.
  std::vector<Victim> victims;  // The longest wait first; at most victims_max.
  std::vector<Harm> harms;
  bool complete = true;  // False: more threads, or more sums, than there is room for.
  // CPU time of k2k watch itself, and with BPF of its programs, while it watched.
  double own_cpu_s = 0;
  double own_wall_s = 0;
  double own_start_s = 0;  // CPU time before that, mostly of loading the programs.

  // The time of all cores by the clock. Linux' own total can be less: on cores that are partly
  // idle, /proc/stat loses time between ticks.
  [[nodiscard]] double wall_s() const { return seconds * static_cast<double>(cores.size()); }
  // Own CPU time as a fraction of all cores' time.
  [[nodiscard]] double own_share() const;
};

inline constexpr std::size_t victims_max = 20;
inline constexpr std::size_t rows_max = 1024;

struct Evidence {
  Snapshot snapshot;
  std::optional<Traced> traced;
};

Report compare(const Evidence& before, const Evidence& after, const Rules& rules,
               const std::map<unsigned, InterruptOwner>& owners);

// Of a kernel or servicing thread: its part, or an empty rule name if it serves no device.
struct Place {
  std::string part;
  std::string kind;
  std::string device;
  std::string driver;
};
std::optional<Place> place_of_thread(const ThreadStat& thread, const Rules& rules,
                                     const std::map<unsigned, InterruptOwner>& owners);

}  // namespace k2k::watch
