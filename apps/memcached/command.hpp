#pragma once
// The command line of k2k-memcached.

#include "cli/command.hpp"

namespace k2k::cli {

Command memcached_command();

}  // namespace k2k::cli
