#pragma once
// The sums that the BPF programs keep, as plain data.
//
// Threading: plain data.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace k2k::watch {

// What took CPU time. The numbers are those of watch.bpf.c.
enum class Taker : std::uint32_t {
  interrupt = 0,  // id: the number of the interrupt.
  softirq = 1,    // id: the softirq's number, as in /proc/softirqs.
  vector = 2,     // id: of vector_names.
  work = 3,       // id: the address of the work item's function.
  thread = 4,     // id: a kernel thread.
  program = 5,    // id: 0, all threads of programs.
  idle = 6,       // id: 0.
};

inline constexpr const char* vector_names[] = {"local_timer", "reschedule", "call_function_single",
                                               "call_function", "irq_work"};
inline constexpr const char* softirq_names[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                                "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

struct Spent {
  double cpu_s = 0;
  std::uint64_t count = 0;
};

// A program's waits for a core behind one kernel thread, and the interrupts in its time.
struct TracedHarm {
  std::string cause;   // The thread's name.
  std::string victim;  // The name of the program's thread.
  double waited_s = 0;
  std::uint64_t times = 0;
};

// All since the start of the programs.
struct Traced {
  std::map<std::pair<Taker, std::uint64_t>, std::map<int, Spent>> spent;  // By core.
  std::map<std::uint64_t, std::string> functions;   // The names of work items' functions.
  std::map<std::uint64_t, std::string> threads;     // The names of kernel threads, also ended ones.
  std::map<std::pair<int, int>, TracedHarm> harms;  // By thread and process.
  std::map<int, double> interrupted_s;              // By process.
  double own_cpu_s = 0;                             // Of the programs themselves.
  std::uint64_t lost = 0;                           // Sums that found no room.
};

}  // namespace k2k::watch
