#pragma once
// Page faults as requests: many at a time, neighbours by one system call; and the preparation of
// region memory for system calls, because Linux cannot fault it in.
//
// Threading: reentrant.

#include <cstdint>
#include <span>

#include "backend/demand_pages.hpp"
#include "services/request.hpp"
#include "services/services.hpp"

namespace k2k::services {

[[nodiscard]] bool is_fault(const Request& request);

// One request among those that are resolved together.
struct Fault {
  Request request;
  Answer answer;  // would_wait: a file's page is not in the cache.
};

// The most requests of one call; further requests need further calls.
inline constexpr std::size_t faults_max = 64;

// Resolves them all: sorted by address, requests whose pages touch or overlap are one range; a
// range is brought in by one system call, where a file is read by as many as staging needs. An
// error answers the requests it concerns and no other. Gives the number of ranges. Reorders
// `faults`.
std::size_t resolve(std::span<Fault> faults, backend::Reading reading);

// Before a system call: brings in the pages of regions that the request's pointers name. 0, or the
// negative errno to answer with: -EFAULT where a page cannot be filled, -EAGAIN where only a thread
// that may be kept can read it. Calls without a row are not examined.
std::int64_t bring_in_arguments(const Request& request, backend::Reading reading);

// madvise(2): as Linux, but advice that removes pages of regions lets no stale page come back
// (backend::Removal).
std::int64_t advise_memory(const Request& request);

}  // namespace k2k::services
