#pragma once
// The requests of a generator as a trace (docs/design/trace.md), so that a device that takes no
// core can make them again.
//
// Threading: record() as measure(); trace_from() is pure.

#include <k2k/trace.hpp>
#include <span>
#include <string>

#include "base/result.hpp"
#include "labs/interference/generators/generator.hpp"
#include "telemetry/event_ring.hpp"

namespace k2k::labs::generators {

// Runs a generator once, on a runtime of its own that records events. Errors: as measure();
// ENOTSUP, this machine cannot run it; EIO, wrong answers; ENOBUFS, the run has more requests than
// are recorded.
Result<Trace> record(const Generator& generator, const RuntimeConfig& config,
                     const Settings& settings);

// One event for each accepted request. The first request of a slot comes at its time since the
// first request of all; each other one at its time since the answer before in the same slot, which
// is the time that the work-item computed, until the host accepted the next request.
//
//   fault_in            fault of a page, or nop if another work-item has asked for this page
//   mmap, munmap        fault and release of a chunk: nobody else touches its pages
//   pread, pwrite       the same, of a record
//   move_pages, rt_sigqueueinfo    move_pages and signal
//   all others          cost, of the time that the service took
//
// Errors: EINVAL, an answer without its request, or a call of which the answer is missing.
Result<Trace> trace_from(std::span<const telemetry::Event> events, double ns_per_cycle,
                         const std::string& name);

// Replaces the file as a whole. Errors: as open(2), write(2) and rename(2), with the path.
Status write_trace(const std::string& path, const Trace& trace);

}  // namespace k2k::labs::generators
