#pragma once
// A report as one JSON object.
//
// Threading: pure functions.

#include <nlohmann/json.hpp>
#include <string>

#include "cli/watch/report.hpp"

namespace k2k::watch {

// Raised with each change of the meaning of a field.
inline constexpr int report_schema = 1;

// `event` is "interval", or "summary" for the last line.
nlohmann::ordered_json as_json(const Report& report, const char* event);

// The same as one line. A name that is no UTF-8 gets replacement characters.
std::string json_line(const Report& report, const char* event);

}  // namespace k2k::watch
