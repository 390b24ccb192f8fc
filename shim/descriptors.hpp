#pragma once
// The program's descriptors: the permitted ways for each, and the effect of a close on the router
// library's twins.
//
// A twin is a second descriptor of the same inode. Linux drops all POSIX locks of a process on an
// inode when the process closes any descriptor of it. A twin is therefore closed within the
// program's close() of its last descriptor of that inode: nothing can be in flight on the twin
// then, and Linux drops the locks in this call anyway. When a tracked descriptor is closed, a
// search through all open descriptors finds the other descriptors of the inode. The origin of those
// (dup, F_DUPFD, SCM_RIGHTS, pidfd_getfd) does not matter.
//
// Threading: any thread. A call from within a served call (Inside) changes nothing but the table.

#include <sys/types.h>

#include <cstdint>

#include "shim/tracked.hpp"

namespace k2k::shim {

[[gnu::visibility("hidden")]] extern Tracked tracked;

// Routing flags (tracked.hpp) of an open descriptor; asks Linux at its first use. routing_unknown:
// the descriptor is not open.
std::uint32_t look_at(int descriptor);

// Must close() examine the descriptor? Reads one word.
inline bool closes_matter() { return tracked.any(); }

// Does the router library own the descriptor? The program sees such a number as not open.
bool is_of_router_library(int descriptor);

// To be called before the program closes these descriptors. Does nothing in a child of vfork(),
// where the descriptors are the child's and the table is the parent's.
void before_close(int first, int last);

void descriptors_before_fork();
void descriptors_after_fork(bool child);

}  // namespace k2k::shim
