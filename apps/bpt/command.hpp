#pragma once
// The command line of k2k-bpt.

#include "cli/command.hpp"

namespace k2k::cli {

Command bpt_command();

}  // namespace k2k::cli
