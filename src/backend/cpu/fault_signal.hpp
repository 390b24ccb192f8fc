#pragma once
// A touch of a missing page, from the signal to the retried access (HISS, section II-C).
//
//   access ─▶ SIGBUS ─▶ in a region? ─ no ──▶ the process' previous handler
//                          │ yes
//                          ├─ on a fibre ──▶ request: claim, publish, ring, halt ─▶ answered ─▶
//                          return │                 the unit runs its other work-items     and
//                          retry └─ other thread, or a region that says so ──▶ resolved right here
//
// The handler runs on the fibre's own stack and leaves by an ordinary switch, in the middle of a
// signal: SA_NODEFER, so that the signal stays unblocked for the next fibre. A previous handler is
// called as a function: on this stack, with this mask. A fault that cannot be
// resolved ends the launch with a message that names address and region; on any other thread it is
// the previous handler's. A work-item's own SIGBUS is told first (crash_report.hpp).
//
// Threading: as an ordinary signal handler; install and remove from anywhere.

#include <csignal>
#include <cstddef>

namespace k2k::backend::cpu {

enum class FaultUser { region, device };

// One a user. The handler comes with the first one. Who puts a handler above it keeps that, until
// the first region comes: its pages must be served, so a second one of ours goes on top.
void install_fault_handler(FaultUser user);
// With the last user what was there before is there again, unless somebody put a handler above.
void remove_fault_handler(FaultUser user);

// As without us: the handler before ours as a function, or the default at the retried access.
void pass_on(const struct sigaction& to, int signal, siginfo_t* info, void* context);

// Bytes of a work-item's stack that a fault takes: the signal frame, which holds all vector
// registers, and the request.
[[nodiscard]] std::size_t fault_stack_bytes();

}  // namespace k2k::backend::cpu
