#pragma once
// The simulated server: the shipped top half, bottom half, role word and completion, worked by a
// few threads that are fibres. What server/core/lead.cpp, pool.cpp and server.cpp do with threads,
// locks and descriptors is done here by the same steps without them.
//
// Threading: on the fibres of the schedule.

namespace k2k::simulation {

// Adds the service threads to the schedule.
void start_server();

// Returns once no slot is the host's.
void drain();

// Ends the service as the destructor of Server does: afterwards all are refused.
void stop();

[[nodiscard]] bool stopped();

// Gives back what a schedule took, once it is over.
void forget_server();

}  // namespace k2k::simulation
