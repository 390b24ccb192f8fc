#pragma once
// The command line of k2k-miniamr.

#include "cli/command.hpp"

namespace k2k::cli {

Command miniamr_command();

}  // namespace k2k::cli
