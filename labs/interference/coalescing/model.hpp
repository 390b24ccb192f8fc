#pragma once
// The same comparison in simulated time: one poller with the costs of a machine, the events of the
// shapes, and the policy's own code. It repeats itself: what it says of the policy needs no quiet
// machine.
//
// What is modelled: a poller that spins for a while and then sleeps, a window that is spun or slept
// (server/poll/top_half.cpp), bundles and requests that take time, work-items that wait for an
// answer. What is not: caches, preemption, other threads. So its best setting need not be a
// machine's.
//
// Threading: pure functions.

#include <cstdint>

#include "labs/interference/coalescing/compare.hpp"
#include "labs/interference/coalescing/measure.hpp"
#include "labs/interference/coalescing/shapes.hpp"

namespace k2k::labs::coalescing {

// CPU time of a poller, as measured on two virtual cores, and how late timers and wakes are.
struct Machine {
  double spin_ns = 50e3;  // The poll ladder's (server.spin_us).
  double park_ns = 6e3;   // Going to sleep, and waking by a doorbell.
  double wake_late_ns = 5e3;
  double sleep_ns = 5e3;  // A sleep that a timer ends.
  double sleep_late_ns = 6e3;
  double sleep_longest_ns = 100e3;  // server/poll/top_half.hpp, urgent_look
  double bundle_ns = 400;           // Once a bundle, however many are in it.
  double request_ns = 400;          // Beside the system call itself.
  double read_ns = 600;             // Of a system call that is no `cost`.
  double noise = 0.02;              // Standard deviation of what a sample of the policy says.
};

// As measure(), without a machine.
Measured simulate(const Shape& shape, const Plan& plan, const Machine& machine);

}  // namespace k2k::labs::coalescing
