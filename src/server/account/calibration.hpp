#pragma once
// The cost of waking a service thread on this machine, measured: the indirect costs of HISS
// (IISWC'18, section IV) that no clock of a service thread sees, or that a governor must know
// beforehand.
//
// Threading: from anywhere; the first call measures, in about 10 ms; calls made meanwhile
// measure, too.

#include "governor/costs.hpp"

namespace k2k::server {

// interrupt  CPU time of the waking thread: on the cpu backend the device's unit
// wake       CPU time of a thread that sleeps until it is woken, from its last step to its next
// sleep      the same for a sleep that a timer ends
// tick       that, too: a thread that looks each few microseconds sleeps in between
const governor::Costs& calibrated_costs();

}  // namespace k2k::server
