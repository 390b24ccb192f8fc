#pragma once
// Calls for which Linux' own threads work while the caller waits.
//
// A journal's commit, the write-back of pages and the end of a written extent are done by kworker
// and jbd2, whose CPU time is in no account. Only its bound is known: the work happens while the
// caller waits.

#include "services/request.hpp"

namespace k2k::services {

// fsync and its like, calls that change how a file's blocks lie, and writes to a descriptor with
// O_DSYNC or O_SYNC. Asks Linux for a descriptor's flags where the call writes.
bool has_kernel_threads_work(const Request& request);

}  // namespace k2k::services
