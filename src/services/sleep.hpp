#pragma once
// Calls that end by a clock, and for which the server needs no thread: sleeps (nanosleep, and
// clock_nanosleep by a clock that nobody can set), and waits for one descriptor with a timeout
// (epoll_wait, epoll_pwait without a mask, poll of one descriptor).
//
// Threading: reentrant.

#include "services/services.hpp"

namespace k2k::services {

// For a call that would wait: the descriptor and the moment for which it waits, or its answer if it
// need not wait. Neither: a thread is to make the call.
Answer sleep_or_wait(const Request& request);

}  // namespace k2k::services
