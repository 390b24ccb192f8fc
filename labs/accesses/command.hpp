#pragma once
// The command line of k2k-accesses.

#include "cli/command.hpp"

namespace k2k::cli {

Command accesses_command();

}  // namespace k2k::cli
