#pragma once
// Page faults at the thesis' scale (section 4.5.1: 512,000 soft faults), by 1 to 8 units, one and
// 64 at a time for each unit. The time of a fault is split so that waiting is told apart from work:
//
//   signal, initialise │ before │ handler │ batch │ after
//   the unit's own     │ waits for a service thread
//                                │ the handler's work for this page
//                                          │ its work for other faults of the same batch
//                                                  │ waits for the unit, and resumes
//
// Threading: the caller's.

#include <nlohmann/json_fwd.hpp>

#include "bench/command/bench.hpp"

namespace k2k::bench {

// Two results: `cells`, a row for each number of units and of faults at a time; `queueing`, a row
// for each number of units: how much a fault's latency grows from one to many at a time, and by
// which parts. Means, us:
//
//   latency_us   of a touch; signal_us to after_us are its parts, and signal_us is the rest of it
//   handler_us   CPU time of service threads in the handler, a fault, by their ledger, which takes
//                off the time in which another program had the core; batch_us has that time
//   passed       other faults of the unit that ended during a fault
//   unit_us      a unit's time for each fault: elapsed x units / faults
//   queue_us     passed x unit_us: the time in which the unit served other faults
//   host_busy    CPU time of service threads that work, of the elapsed time; 1 is one core
//
// Errors: as Runtime::create() and DemandRegion::zero().
Result<nlohmann::ordered_json> fault_scale(const RuntimeConfig& config, Effort effort);

}  // namespace k2k::bench
