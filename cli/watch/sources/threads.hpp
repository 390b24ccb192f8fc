#pragma once
// Threads of the kernel and of programs: /proc/PID/stat, /proc/PID/task/TID/{stat,schedstat}
// (proc(5)), and the meaning of kernel threads' names.
//
// Threading: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace k2k::watch {

// Flags of a thread (linux/sched.h).
inline constexpr std::uint64_t kernel_thread_flag = 0x0020'0000;  // PF_KTHREAD
inline constexpr std::uint64_t pinned_flag = 0x0400'0000;         // PF_NO_SETAFFINITY

// The line of a stat file.
struct ThreadStat {
  int id = 0;
  std::string name;  // A worker's also names the workqueue: "kworker/u8:1-writeback".
  std::uint64_t flags = 0;
  std::uint64_t ticks = 0;        // CPU time of the process, in /proc/PID/stat.
  std::uint64_t child_ticks = 0;  // Of children that ended and were waited for.
  std::uint64_t threads = 1;
  std::uint64_t start_ticks = 0;  // Since boot. With the number it names a thread for ever.
  int core = -1;                  // On which it ran last.

  [[nodiscard]] bool of_kernel() const { return (flags & kernel_thread_flag) != 0; }
  [[nodiscard]] bool is_pinned() const { return (flags & pinned_flag) != 0; }
};

// Empty: another text, or one that is cut off before the last field used.
std::optional<ThreadStat> parse_thread(std::string_view stat);

// The meaning of a kernel thread's name.
struct ThreadName {
  // "kworker/0:1H-kblockd": a worker; its workqueue is the one that it worked for last.
  bool worker = false;
  std::string workqueue;
  // "irq/41-virtio3-rx": the thread of an interrupt.
  std::optional<unsigned> interrupt;
  // For a table: without the numbers of cores and workers. "ksoftirqd/0" is "ksoftirqd".
  std::string common;
};

ThreadName parse_name(std::string_view name);

}  // namespace k2k::watch
