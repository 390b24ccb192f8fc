#pragma once
// The sub-commands of k2k and of its guests.

#include "cli/command.hpp"

namespace k2k::cli {

Command info_command();
Command doctor_command();
Command host_command();
Command ctl_command();
Command top_command();
Command route_command();
Command calibrate_command();
Command calls_command();
Command config_command();
Command man_command();
Command completion_command();
Command help_command();

Command grep_command();   // apps/grep
Command bench_command();  // In k2k-bench: bench/command.
Command lab_command();    // In k2k-lab: labs.
Command watch_command();  // In k2k-watch: cli/watch.

// Their summaries, as k2k lists them.
inline constexpr const char* bench_summary =
    "Measure this machine and compare with what it permits";
inline constexpr const char* lab_summary = "Run an experiment of the papers";
inline constexpr const char* watch_summary = "Measure what Linux' device paths cost this machine";

}  // namespace k2k::cli
