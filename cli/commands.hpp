#pragma once
// The sub-commands of k2k itself. Those of bench/command and labs exist only where their folder
// does (cli/CMakeLists.txt).

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
Command bench_command();  // K2K_HAS_BENCH
Command lab_command();    // K2K_HAS_LAB

}  // namespace k2k::cli
