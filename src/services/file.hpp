#pragma once
// read and write, and their forms with vectors: the kind of descriptor decides whether they wait.
//
// The first try uses RWF_NOWAIT: pipes, sockets and terminals answer or say EAGAIN; a regular file
// gives what the page cache holds, and a later try completes it, so that a short count still means
// end of file. Here the caller wants a miss to start the disk access. Before Linux 6.4, whose pipes
// refuse that flag, a pipe is tried through an open description that does not wait.

#include "services/services.hpp"

namespace k2k::services {

Answer transfer_without_waiting(const Request& request, Progress& progress, router::Files& files);
std::int64_t transfer_waiting(const Request& request, Progress& progress, Interruption interruption,
                              router::Files& files);

// readv, writev, preadv2 and pwritev2. Each try copies the pieces anew, and goes on behind the
// bytes that were moved.
Answer vector_without_waiting(const Request& request, Progress& progress, router::Files& files);
std::int64_t vector_waiting(const Request& request, Progress& progress, Interruption interruption,
                            router::Files& files);

// Returns once `descriptor` is ready for `events` (poll(2)), 0; -ECANCELED if interrupted; -EINTR
// for a signal. A descriptor that cannot be polled counts as ready.
std::int64_t wait_ready(int descriptor, short events, Interruption interruption);

// True if the descriptor has O_NONBLOCK.
bool never_waits(int descriptor);

}  // namespace k2k::services
