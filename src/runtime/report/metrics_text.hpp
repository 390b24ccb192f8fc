#pragma once
// What a server counted, as Prometheus reads it: the text format, version 0.0.4.
//
// Names follow its rules: k2k_, the thing, the unit, _total for what only grows. Seconds are
// seconds. The label `runtime` tells the runtimes of a process apart.
//
// Threading: pure functions of a copy.

#include <cstdint>
#include <span>
#include <string>

#include "server/account/stats.hpp"

namespace k2k {

struct RuntimeMetrics {
  std::uint32_t runtime = 1;  // The first, second, … of its process and port.
  server::Stats stats;
};

std::string to_prometheus(std::span<const RuntimeMetrics> runtimes);

}  // namespace k2k
