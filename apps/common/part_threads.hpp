#pragma once
// Parts of a work by threads of the host, the counterpart of a launch without a device.
//
// Threading: one thread calls; `part` runs on all of them at the same time.

#include <cstdint>
#include <functional>
#include <system_error>

#include "base/result.hpp"

namespace k2k::apps {

// EAGAIN: the one line for threads that could not be started.
Error too_few_threads(std::size_t started, std::uint32_t wanted, const std::system_error& failure);

// Calls part(0) to part(parts - 1), each once, on so many threads, of which the caller is one. They
// take the next part as soon as they end one. Errors: EAGAIN; then some parts were not run.
Status run_parts(std::uint32_t threads, std::uint32_t parts,
                 const std::function<void(std::uint32_t)>& part);

}  // namespace k2k::apps
