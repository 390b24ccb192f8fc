#pragma once
// The simulated device: work-items as fibres that make a few calls each by the shipped device code.
//
// Threading: on the fibres of the schedule.

namespace k2k::simulation {

// The agent that launches, sweeps up behind each launch, and says when all is done.
void launcher();

// Rings for nothing, a few times.
void stray_ringer();

}  // namespace k2k::simulation
