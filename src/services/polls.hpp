#pragma once
// Waits for descriptors: poll, ppoll, epoll_wait and kin, select, pselect6. Each is first made with
// a timeout of 0, select with copies of its sets, because Linux clears them. What is ready, or need
// not wait, is answered so. The server waits for one descriptor (poll, epoll_wait, epoll_pwait,
// epoll_pwait2; select and kin without a timeout, of which Linux would write the rest back); all
// else keeps a thread, and so does a call with a mask of signals.
//
// Threading: reentrant.

#include <optional>

#include "services/services.hpp"

namespace k2k::services {

// Nothing: another call.
std::optional<Answer> try_polls(const Request& request);

}  // namespace k2k::services
