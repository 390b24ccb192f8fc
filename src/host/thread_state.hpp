#pragma once
// Does another thread of this process wait, for instance for a disk or a lock?
//
// A thread that another thread has displaced from its core does not wait: it is runnable.
//
// Threading: from anywhere.

#include <sys/types.h>

namespace k2k::host {

// True unless /proc says that the thread runs or is runnable: also if the thread has ended, or if
// /proc cannot be read. `thread` is a number from gettid(2). One call takes about 5 us.
bool thread_waits(pid_t thread);

}  // namespace k2k::host
