#pragma once
// The simulated device: fibres as work-items, which make a few calls each with the shipped device
// code.
//
// Threading: on the fibres of the schedule.

namespace k2k::simulation {

// The agent that launches, reclaims slots after each launch, and reports the end.
void launcher();

// Rings for nothing, a few times.
void stray_ringer();

}  // namespace k2k::simulation
