#pragma once
// One replay on a real server, seen from outside: what was asked, how late it was answered, what
// the service threads took for it, and what of that was the device.
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

// A file where there is one of this name, or a load that is computed.
// Errors: those of k2k::Trace, naming both.
Result<Trace> trace_of(const std::string& file_or_name, std::uint64_t seed);

// Replays on a runtime of its own. A row: trace, cap (null without one), requests, seconds,
// throughput (requests a second), delay_p50_us and delay_p99_us (from due to answered), stalled
// (fraction of the time), share and worst_100ms (of the CPU time of all cores, as schedstat sees
// the service threads, the device included), device_share (what of share was the device),
// device_ns (the same a request), per_cpu_s (requests a second of that CPU time), bundle (requests
// that came together), waits (timers of the governor a second), tenants
// (those that asked: tenant, requests, cpu_s), errors, first_error.
// Errors: those of Runtime::create(), Trace::replay() and the observer.
Result<nlohmann::ordered_json> measure(const RuntimeConfig& base, const Trace& trace,
                                       const TraceOptions& options);

}  // namespace k2k::labs::trace
