#pragma once
// Measures the cost of waking a service thread on this machine: the indirect costs of HISS
// (IISWC'18, section IV) that no clock of a service thread includes, or that a governor must know
// beforehand.
//
// Threading: from anywhere; the first call measures for about 10 ms; concurrent calls measure as
// well.

#include "governor/costs.hpp"

namespace k2k::server {

// interrupt  CPU time of the waking thread: on the cpu backend the device's unit
// wake       CPU time of a thread that sleeps until it is woken, from its last step to its next
// sleep      the same for a sleep that a timer ends
// tick       the same for the short sleeps of a thread that polls every few microseconds
const governor::Costs& calibrated_costs();

}  // namespace k2k::server
