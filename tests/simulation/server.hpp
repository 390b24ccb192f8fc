#pragma once
// The simulated server: the shipped top half, bottom half, role word and completion, run by a few
// fibres as threads. They repeat the steps of server/core/ and server/pool/thread_pool.cpp without
// threads, locks and descriptors.
//
// Threading: on the fibres of the schedule.

namespace k2k::simulation {

// Adds the service threads to the schedule.
void start_server();

// Returns once the host owns no slot.
void drain();

// Ends the service as the destructor of Server does: afterwards all calls are refused.
void stop();

[[nodiscard]] bool stopped();

// Releases the resources of a finished schedule.
void forget_server();

}  // namespace k2k::simulation
