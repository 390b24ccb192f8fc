#pragma once
// Calls that name a descriptor of K2K's own (base/own_descriptors.hpp): to a kernel such a number
// is not open. The check covers descriptors that are arguments. It does not cover descriptors in
// memory that a call reads (lists of poll(2), control blocks of aio; network.cpp checks
// SCM_RIGHTS). Nor does it cover pread64, the most frequent call, which changes no descriptor.
//
// Threading: any thread.

#include <cstdint>

#include "services/request.hpp"

namespace k2k::services {

// True if a descriptor argument is K2K's own; then the answer is EBADF.
bool names_own(const Request& request);

// close_range(2) of all descriptors except K2K's own: 0 or a negative errno. -EPERM:
// CLOSE_RANGE_UNSHARE would give the service thread descriptors of its own.
std::int64_t close_range(std::uint64_t first, std::uint64_t last, std::uint64_t flags);

}  // namespace k2k::services
