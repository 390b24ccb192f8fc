#pragma once
// The command line of k2k-comd.

#include "cli/command.hpp"

namespace k2k::cli {

Command comd_command();

}  // namespace k2k::cli
