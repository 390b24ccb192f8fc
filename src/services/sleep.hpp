#pragma once
// Calls that only sleep: nanosleep, and clock_nanosleep by a clock that nobody can set. The server
// needs no thread for them, only the moment at which they end.
//
// Threading: reentrant.

#include "services/services.hpp"

namespace k2k::services {

// For a call that would wait: the moment for which it waits, or its answer if it need not wait.
// Without a moment: a thread is to make the call.
Answer sleep_or_wait(const Request& request);

}  // namespace k2k::services
