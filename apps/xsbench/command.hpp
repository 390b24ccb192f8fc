#pragma once
// The command line of k2k-xsbench.

#include "cli/command.hpp"

namespace k2k::cli {

Command xsbench_command();

}  // namespace k2k::cli
