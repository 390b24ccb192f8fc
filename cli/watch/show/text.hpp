#pragma once
// A report of k2k watch as text for people.
//
// Threading: pure functions.

#include <string>

#include "cli/watch/report.hpp"

namespace k2k::watch {

// At most `rows` device paths.
std::string as_text(const Report& report, std::size_t rows, bool color);

}  // namespace k2k::watch
