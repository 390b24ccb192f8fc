#pragma once
// The host's costs of a request besides the service itself: the indirect costs of HISS (IISWC'18,
// section IV), one figure each, to be calibrated on the machine or set by a study.
//
// If a governor charged service time alone, the true share would exceed the cap.

#include "base/units.hpp"

namespace k2k::governor {

// CPU time per event.
struct Costs {
  Nanoseconds interrupt{1'000};  // A doorbell that interrupts: entry, top half, exit.
  Nanoseconds wake{2'000};       // Waking a service thread, until it runs.
  Nanoseconds sleep{2'500};      // A timed sleep: switch out, timer interrupt, switch in.
  Nanoseconds tick{1'000};       // One round of a periodic accounting thread.
};

}  // namespace k2k::governor
