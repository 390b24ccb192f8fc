#pragma once
// An access to a missing page, from the signal to the retried access (HISS, section II-C).
//
//   access ─▶ SIGBUS ─▶ in a region? ─ no ──▶ the process' previous handler
//                          │ yes
//                          ├─ on a fibre ──▶ request: claim, publish, ring, halt; the unit runs its
//                          │                 other work-items ─▶ answered ─▶ return and retry
//                          └─ other thread, or an in-place region ──▶ resolved at once
//
// The handler runs on the fibre's own stack and leaves by an ordinary switch, in the middle of a
// signal: SA_NODEFER, so that the signal stays unblocked for the next fibre. A previous handler is
// called as a function: on this stack, with this mask. A fault that cannot be resolved ends the
// launch with a message that names address and region; on any other thread it goes to the previous
// handler. A work-item's own SIGBUS is reported first (crash_report.hpp).
//
// Threading: as an ordinary signal handler; install and remove from anywhere.

#include <csignal>
#include <cstddef>

namespace k2k::backend::cpu {

enum class FaultUser { region, device };

// Call it once per user; the first call installs the handler. If the program installs a handler
// above ours, that one stays on top until the first region is created: the region's pages must be
// served, so a second handler of ours is installed on top.
void install_fault_handler(FaultUser user);
// The last user's removal restores the previous handler, unless the program installed one above
// ours.
void remove_fault_handler(FaultUser user);

// Around fork(2): no other thread is changing the handlers meanwhile, so a child finds them whole
// and can change them. unlock in the parent and in the child.
void lock_fault_handlers();
void unlock_fault_handlers();

// Continues as without K2K: calls the handler before ours as a function, or leaves the default to
// the retried access.
void pass_on(const struct sigaction& to, int signal, siginfo_t* info, void* context);

// The bytes of a work-item's stack that a fault needs: the signal frame, which holds all vector
// registers, and the request.
[[nodiscard]] std::size_t fault_stack_bytes();

}  // namespace k2k::backend::cpu
