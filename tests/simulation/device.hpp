#pragma once
// The simulated device: fibres as work-items, which make a few calls each with the shipped device
// code.
//
// Threading: on the fibres of the schedule.

namespace k2k::simulation {

// The agent that launches, reclaims slots after each launch, and reports the end.
void launcher();

// Rings a few doorbells without a request.
void stray_ringer();

}  // namespace k2k::simulation
