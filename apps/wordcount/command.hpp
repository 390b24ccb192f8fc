#pragma once
// The command line of k2k-wordcount.

#include "cli/command.hpp"

namespace k2k::cli {

Command wordcount_command();

}  // namespace k2k::cli
