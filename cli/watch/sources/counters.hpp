#pragma once
// Counters of the whole machine: /proc/stat, /proc/interrupts and /proc/softirqs (proc(5)).
//
// The parsers accept any text: a line that is cut off or has another format is left out.
//
// Threading: pure functions.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace k2k::watch {

// Seconds since the boot. A guest's time is part of `user_s`, a wait for a disk of `idle_s`.
struct CoreTimes {
  double user_s = 0;
  double system_s = 0;
  double idle_s = 0;
  double interrupt_s = 0;
  double softirq_s = 0;
  double steal_s = 0;  // A hypervisor ran something else.

  [[nodiscard]] double total_s() const {
    return user_s + system_s + idle_s + interrupt_s + softirq_s + steal_s;
  }
  CoreTimes& operator+=(const CoreTimes& other);
  // What passed since `earlier`. A counter that fell (idle times do, by a tick) counts as 0.
  [[nodiscard]] CoreTimes since(const CoreTimes& earlier) const;
};

// By core. A core that is offline is missing.
using Times = std::map<int, CoreTimes>;

// The lines "cpu0 10504 0 1608 ..." of /proc/stat; empty if there is none.
Times parse_stat(std::string_view text, double ticks_per_s);

// One line of /proc/interrupts or /proc/softirqs.
struct CountedLine {
  std::string id;  // "41", "RES", "NET_RX"
  std::map<int, std::uint64_t> by_core;
  std::string rest;  // "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0"
};

// Empty: the text has no heading "CPU0 CPU1". A line whose numbers are fewer than the cores, such
// as "ERR: 0", has no core and is left out.
std::vector<CountedLine> parse_counts(std::string_view text);

}  // namespace k2k::watch
