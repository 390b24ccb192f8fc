#pragma once
// The same comparison in simulated time: one poller with the costs of a machine, the events of the
// load shapes, and the policy's own code. Equal seeds give equal results, so the comparison needs
// no quiet machine.
//
// The model contains a poller that spins for a while and then sleeps, a window that is spun or
// slept (server/poll/top_half.cpp), bundles and requests that take time, and work-items that wait
// for an answer. It does not contain caches, preemption or other threads. So its best setting can
// differ from a real machine's.
//
// Threading: pure functions.

#include <cstdint>

#include "labs/interference/coalescing/compare.hpp"
#include "labs/interference/coalescing/measure.hpp"
#include "labs/interference/coalescing/shapes.hpp"

namespace k2k::labs::coalescing {

// CPU time of a poller, as measured on two virtual cores, and how late timers and wakes are.
struct Machine {
  double spin_ns = 50e3;  // As the poll ladder (server.spin_us).
  double park_ns = 6e3;   // To go to sleep and be woken by a doorbell.
  double wake_late_ns = 5e3;
  double sleep_ns = 5e3;  // A sleep that ends by a timer.
  double sleep_late_ns = 6e3;
  double sleep_longest_ns = 100e3;  // server/poll/top_half.hpp, urgent_look
  double bundle_ns = 400;           // Per bundle, however many requests it has.
  double request_ns = 400;          // Beside the system call itself.
  double read_ns = 600;             // Of a system call other than `cost`.
  double noise = 0.02;              // Standard deviation of a sample that the policy reads.
};

// Like measure(), in simulated time.
Measured simulate(const Shape& shape, const Plan& plan, const Machine& machine);

}  // namespace k2k::labs::coalescing
