#pragma once
// A report as Prometheus' text format: counters since the start of k2k watch.
//
// Threading: pure functions.

#include <string>

#include "cli/watch/report.hpp"

namespace k2k::watch {

// `total` is the report since the first snapshot.
std::string as_metrics(const Report& total);

}  // namespace k2k::watch
