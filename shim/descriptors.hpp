#pragma once
// The program's descriptors: what may be done with one, and what their closing means for the router
// library's twins.
//
// A twin is a second descriptor of the same inode. The kernel drops all POSIX locks of a process on
// an inode when the process closes any descriptor of it, so a twin is closed together with one of
// the program's, within that call of close(), and only with the last: then nothing can be in flight
// on it, and there is no lock that the kernel would not drop in the same call. Who else refers to
// the inode is found out by looking at all descriptors, when a tracked one is closed: so it does
// not matter by what ways (dup, F_DUPFD, SCM_RIGHTS, pidfd_getfd) the program came by them.
//
// Threading: any thread. A call from within our own calls (Inside) changes nothing but the table.

#include <sys/types.h>

#include <cstdint>

#include "shim/tracked.hpp"

namespace k2k::shim {

[[gnu::visibility("hidden")]] extern Tracked tracked;

// Routing flags (tracked.hpp) of an open descriptor; asks the kernel at its first use.
// routing_unknown: it is not open.
std::uint32_t look_at(int descriptor);

// Must close() look closer? One word.
inline bool closes_matter() { return tracked.any(); }

// Does the router library own it? To the program such a number is not open.
bool is_of_router_library(int descriptor);

// The program is about to close these. Where it is the child of a vfork() nothing happens: the
// descriptors are its own, the table is the parent's.
void before_close(int first, int last);

void descriptors_before_fork();
void descriptors_after_fork(bool child);

}  // namespace k2k::shim
