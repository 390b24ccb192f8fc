#pragma once
// The options for the parts of a run, by a kernel or by threads: k2k-graph500, k2k-bpt,
// k2k-xsbench. Included by a command.cpp.
//
// Threading: one thread.

#include "cli/command.hpp"

namespace k2k::cli {

// `settings` has the numbers `groups`, `items` and `threads`; 0 is the default of each.
template <class Settings>
void add_parts_options(CommandLine& line, Settings& settings) {
  line.option("--groups", settings.groups,
              "Work-groups to launch, or parts for threads; by default enough for the device")
      .within(1, 65'536)
      .last_wins();
  line.option("--items", settings.items, "Work-items a group; by default enough for the device")
      .within(1, 1024)
      .last_wins();
  line.option("--threads", settings.threads, "Threads of --by threads; by default one a core")
      .within(1, 256)
      .last_wins();
}

}  // namespace k2k::cli
