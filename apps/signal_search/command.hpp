#pragma once
// The command line of k2k-signal-search.

#include "cli/command.hpp"

namespace k2k::cli {

Command signal_search_command();

}  // namespace k2k::cli
