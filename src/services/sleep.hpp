#pragma once
// Calls that wait, and for which the server needs no thread: sleeps (nanosleep, and clock_nanosleep
// by a clock that no program can set), waits for one descriptor with a timeout (epoll_wait,
// epoll_pwait without a mask, poll of one descriptor), and waits for a connection (accept,
// accept4).
//
// Threading: reentrant.

#include <sys/syscall.h>

#include <cstdint>

#include "services/services.hpp"

namespace k2k::services {

// For a call that would wait: the descriptor and the moment for which it waits, or its answer if it
// need not wait. Neither: a thread is to make the call.
Answer sleep_or_wait(const Request& request);

// The calls that sleep in Linux although their descriptor was ready, if another thread was faster:
// no flag keeps them from it.
constexpr bool sleeps_if_too_late(std::uint16_t number) {
  return number == SYS_accept || number == SYS_accept4;
}

}  // namespace k2k::services
