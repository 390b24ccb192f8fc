#pragma once
// One replay on a real server, observed from outside: the requests, the delay of their answers, the
// CPU time of the service threads, and the device's part of it.
//
// Threading: the caller's thread watches; the replay has a thread for its launch.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.hpp"
#include "base/units.hpp"
#include "k2k/runtime.hpp"
#include "k2k/trace.hpp"

namespace k2k::labs::trace {

// A file if one has this name, else a computed load.
// Errors: as k2k::Trace, naming both.
Result<Trace> trace_of(const std::string& file_or_name, std::uint64_t seed);

// Replays on a runtime of its own. A row: trace, cap (null without one), requests, seconds,
// throughput (requests a second), delay_p50_us and delay_p99_us (from due to answered), stalled
// (fraction of the time), share and worst_100ms (of the CPU time of all cores, as schedstat
// accounts the service threads, including the device), device_share (the device's part of share),
// device_ns (the same per request), per_cpu_s (requests per second of that CPU time), bundle
// (requests that arrived together), waits (timers of the governor a second), tenants (those with
// requests: tenant, requests, cpu_s), errors, first_error.
// Errors: as Runtime::create(), Trace::replay() and the observer.
Result<nlohmann::ordered_json> measure(const RuntimeConfig& base, const Trace& trace,
                                       const TraceOptions& options);

}  // namespace k2k::labs::trace
