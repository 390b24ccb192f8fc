#pragma once
// A report as one HTML page without another file or script.
//
// Threading: pure functions.

#include <string>

#include "cli/watch/report.hpp"

namespace k2k::watch {

// `moment` and `machine` are for the heading.
std::string page_of(const Report& report, const std::string& moment, const std::string& machine);

}  // namespace k2k::watch
