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
// the previous handler's.
//
// Threading: as an ordinary signal handler; install and remove under the table's lock.

#include <cstddef>

namespace k2k::backend::cpu {

void install_fault_handler();
// What was there before is there again, unless somebody put a handler above ours.
void remove_fault_handler();

// Bytes of a work-item's stack that a fault takes: the signal frame, which holds all vector
// registers, and the request.
[[nodiscard]] std::size_t fault_stack_bytes();

}  // namespace k2k::backend::cpu
