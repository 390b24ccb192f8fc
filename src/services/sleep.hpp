#pragma once
// Calls that wait, and for which the server needs no thread: sleeps (nanosleep, and clock_nanosleep
// by a clock that no program can set), waits for descriptors (polls.hpp), waits for a connection
// (accept, accept4), for a message of a POSIX queue or room in it, for the end of a process
// (waitid), and waits for a word (FUTEX_WAIT). calls/waits.hpp has the calls.
//
// Threading: reentrant.

#include <sys/syscall.h>

#include <cstdint>
#include <ctime>
#include <optional>

#include "services/services.hpp"

namespace k2k::services {

// For a call that would wait: the descriptor and the moment for which it waits, or its answer if it
// need not wait. Neither: a thread is to make the call.
Answer sleep_or_wait(const Request& request, Progress& progress);

// The moment that a timespec names; relative: from now on. Nothing: Linux refuses such a time.
std::optional<Instant> end_of(const timespec& time, bool absolute);

// The calls that may sleep in Linux although their turn has come: an accept if another thread
// was faster, a connect that has begun. No flag keeps them from it.
constexpr bool sleeps_if_too_late(std::uint16_t number) {
  return number == SYS_accept || number == SYS_accept4 || number == SYS_connect;
}

}  // namespace k2k::services
