#pragma once
// The events of a runtime's requests, for recorders of traces (server.trace).
//
// Threading: any thread.

#include <k2k/runtime.hpp>
#include <vector>

#include "base/result.hpp"
#include "telemetry/event_ring.hpp"

namespace k2k {

struct RequestEvents {
  // Accepted, started and completed requests of all service threads, oldest first: the newest
  // telemetry::EventRing::capacity - 1 events of each thread. Errors: EINVAL (server.trace is off);
  // EPERM (after fork).
  static Result<std::vector<telemetry::Event>> of(const Runtime& runtime);
};

}  // namespace k2k
