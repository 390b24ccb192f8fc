#pragma once
// The command line of k2k-display.

#include "cli/command.hpp"

namespace k2k::cli {

Command display_command();

}  // namespace k2k::cli
