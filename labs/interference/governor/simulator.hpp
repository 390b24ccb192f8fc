#pragma once
// Service threads under a governor, in simulated time, with the server's own policy code.
//
// A closed loop: the accelerator keeps at most Load::outstanding requests unanswered and stalls at
// that number, so the backlog is bounded and no request is lost. CPU time includes the services,
// interrupts, wake-ups, timed sleeps and ticks (costs.hpp), with the latencies of real timers and
// wake-ups. Equal load, configuration and seed give equal outcomes.
//
// Source of model and costs: HISS (IISWC'18), sections IV and VI, and a study calibrated to it.
//
// Threading: a simulation is confined to one thread.

#include <cstdint>

#include "base/result.hpp"
#include "governor/config.hpp"
#include "labs/interference/governor/load.hpp"

namespace k2k::labs::governor {

struct Outcome {
  double share = 0;        // All of this CPU time, as a fraction of all cores' CPU time.
  double displaced = 0;    // The part of it that was spent while all cores were busy.
  double worst_100ms = 0;  // The largest share in any 100 ms.
  double throughput = 0;   // Requests completed a second.
  double per_cpu_s = 0;    // Requests completed a second of CPU time.
  double wakes = 0;        // Wake-ups and timers a second.
  double delay_max_s = 0;  // The longest time from a request to its service.
  std::uint64_t lost = 0;  // Requests neither completed nor outstanding at the end: must be 0.
};

// Simulates `seconds` after the load's silence, or less if that takes more than 30 million events.
// Errors: as governor::create().
Result<Outcome> simulate(const Load& load, const k2k::governor::GovernorConfig& config,
                         double seconds, std::uint64_t seed);

}  // namespace k2k::labs::governor
