#pragma once
// A thread's time on a core and on a run queue, by Linux' own account (schedstat).
//
// Threading: from anywhere.

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace k2k::labs::harm {

struct Schedstat {
  double cpu_s = 0;
  double run_delay_s = 0;  // Runnable, and another thread had the core.
};

// Parses "cpu delay slices", in nanoseconds. Errors: EIO, another text.
Result<Schedstat> parse_schedstat(std::string_view line);
// Errors: as open(2) and read(2), with the path and the remedy; EIO.
Result<Schedstat> read_schedstat(const std::string& path);
Result<Schedstat> own_schedstat();

}  // namespace k2k::labs::harm
