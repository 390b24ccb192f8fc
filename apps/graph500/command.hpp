#pragma once
// The command line of k2k-graph500.

#include "cli/command.hpp"

namespace k2k::cli {

Command graph500_command();

}  // namespace k2k::cli
