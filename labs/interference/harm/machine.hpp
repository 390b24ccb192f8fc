#pragma once
// The state of the machine, for records: its facts, the programs that ran beside the study, the
// time that the hypervisor took, and the interrupts between cores.
//
// Threading: from anywhere.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace k2k::labs::harm {

struct Counters {
  double asleep_s = -1;   // Of all cores in cpuidle's states beyond polling; -1: not shown,
  double polling_s = -1;  // and in its states of polling; -1: no state is shown.
  double busy_s = 0;      // All cores' time,
  double idle_s = 0;
  double stolen_s = 0;    // and of it the hypervisor's.
  double interrupts = 0;  // Between cores: rescheduling and function calls.
};
// A file without its last ends of line; empty if it cannot be read.
std::string text_of(const std::string& path);
// The sum of a line of /proc/interrupts, such as "TLB:", over all cores; -1 without the line.
double interrupts_of(std::string_view interrupts, std::string_view kind);
// Parses /proc/stat and /proc/interrupts.
Counters counters_of(std::string_view stat, std::string_view interrupts);
// The time of all cores in cpuidle's states, below /sys/devices/system/cpu. Linux adds the time of
// a state when its core leaves it.
struct IdleSeconds {
  double asleep = -1;   // In the states beyond polling; -1 if no core shows one.
  double polling = -1;  // In the states of polling; -1 if no core shows any state.
};
IdleSeconds idle_seconds(const std::string& cores);
// Runs for a moment on each core that the thread may use, so that the counters of cpuidle have the
// idle time so far: a core that sleeps through a whole run would otherwise show none.
void visit_cores();
// A value that cannot be read is 0, and asleep_s -1.
Counters read_counters();

// processor, cores, kernel, hypervisor, load, governor, sleep_states, hardware_counters,
// package versions of victims are not part.
nlohmann::ordered_json machine();
// The names of cpuidle's states of core 0; empty without.
std::string sleep_states();

}  // namespace k2k::labs::harm
