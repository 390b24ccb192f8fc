#pragma once
// A host limit of a study's own: a folder with the limit, as `k2k host limit` writes it, that the
// study's runtimes take for the machine's (K2K_HOST_DIR).
//
// Threading: values.

#include <cstddef>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/temporary_folder.hpp"
#include "host/limit.hpp"

namespace k2k::labs {

// The place in such a folder.
host::Place host_place(const TemporaryFolder& folder);

// `limit`: a fraction of all cores' CPU time. Errors: EBUSY, the machine has a limit, which would
// hold, too; of files.
Result<TemporaryFolder> limited_place(double limit);

// Runtimes under the limit know each other's demands after so long.
Nanoseconds acquaintance(std::size_t runtimes, double limit);

}  // namespace k2k::labs
