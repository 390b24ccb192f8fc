#pragma once
// The command line of k2k-minife.

#include "cli/command.hpp"

namespace k2k::cli {

Command minife_command();

}  // namespace k2k::cli
