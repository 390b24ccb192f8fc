#pragma once
// A server's statistics for Prometheus, in the text format, version 0.0.4.
//
// Names follow the rules of Prometheus: k2k_, the subject, the unit, and _total for counters. The
// label `runtime` distinguishes the runtimes of a process.
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
